"""What `faces/terminal` says to people, around the windows of a display."""

from __future__ import annotations

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.record import short_id

MAX_NAMED = 30  # characters of a name, so that the command behind it is seen
MAX_ASKED = 60  # characters of a question, so that the key behind it is seen

# What a display of windows says around them.

DISPLAY_KEYS = "Ctrl+O full history • Ctrl+C stop"
DISPLAY_KEYS_EXPANDED = "Ctrl+O back • ↑↓ PgUp PgDn • Ctrl+C stop"
DISPLAY_KEYS_SCROLLED = "End: follow • Ctrl+O back • ↑↓ PgUp PgDn"


def display_left_out(count: int) -> str:
    """Return how many windows there was no room for."""
    return f"... and {count} more (Ctrl+O shows all)"


def display_next(session_id: str, name: str = "") -> str:
    """Return the command that goes on with a session, and with which where there are several."""
    which = f" {one_line(name, MAX_NAMED)}" if name else ""
    return f'To continue{which}: subagents resume {short_id(session_id)} "..."'


def display_waits(place: int) -> str:
    """Return where in the queue a task stands."""
    return f"waiting, place {place}"


TYPE_AN_ANSWER = "Type the answer and press Enter; Enter alone: back to the windows."


def question_waits(name: str, text: str) -> str:
    """Return the line below the windows that says what waits for an answer."""
    return one_line(f"{name} asks: {text}", MAX_ASKED) + " · a: answer"
