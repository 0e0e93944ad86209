"""What the programs are called whose agents can be read; what reads them is in `table.py`."""

from __future__ import annotations

CLAUDE_CODE, OPENCODE, CODEX, GEMINI = PROGRAMS = ("claude-code", "opencode", "codex", "gemini")
