"""A core that reads whatever it is told until its wire is closed, and never says a word."""

from __future__ import annotations

import sys

sys.stdin.read()
