"""What `faces/terminal` says to people, around the windows of a display."""

from __future__ import annotations

# What a display of windows says around them.

DISPLAY_KEYS = "Ctrl+O full history • Ctrl+C stop"
DISPLAY_KEYS_EXPANDED = "Ctrl+O back • ↑↓ PgUp PgDn • Ctrl+C stop"
DISPLAY_KEYS_SCROLLED = "End: follow • Ctrl+O back • ↑↓ PgUp PgDn"
DISPLAY_SESSIONS = "Session IDs (`subagents output ID` prints the answer of one):"


def display_left_out(count: int) -> str:
    """Return how many windows there was no room for."""
    return f"... and {count} more (Ctrl+O shows all)"


def display_next(session_id: str) -> str:
    """Return the command that goes on with a session."""
    return f'Go on with one: subagents run --resume {session_id} "..."'
