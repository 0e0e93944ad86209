"""The runners there are: each name is also a module in `runners`, a setting and an option."""

from __future__ import annotations

PROCESS = "process"
RUNNERS = (PROCESS, "tmux")
