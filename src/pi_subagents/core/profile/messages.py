"""What `core/profile` says to people."""

from __future__ import annotations

SAVES_NOTHING = "save nothing"
GOES_ON = "go on"
QUIT_TITLE = "Escape was pressed twice. Quit?"
QUIT_OPTIONS = ("Go on", "Answer the last two questions again", "Quit without saving")


def asked_again(problem: str) -> str:
    """Return why a question is asked again, and how to insist."""
    return f"{problem[:1].upper()}{problem[1:]}. Enter keeps it."


def escape_takes(scope: str) -> str:
    """Return what Escape does where a scope is asked for."""
    return f"take {scope}"
