"""What `core/session` says to people."""

from __future__ import annotations


def session_goes_on(wait_s: float) -> str:
    """Return that a text is not the last one, since its session is at work."""
    return f"(This session is still running. To wait for its end: waitSeconds, up to {wait_s:g}.)"


def session_failed(error_message: str) -> str:
    """Return why a session has no more to say."""
    return f"(It ended with an error: {error_message})"


# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.


MUST_BE_COUNT = "must be a whole number of characters"

# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.


def entry_cut(more: int) -> str:
    """Return the mark at the end of a text that a host's session log holds a part of."""
    return f"[cut: {more} more characters]"


# What is said of the profile a task names.


NO_PROFILES = (
    "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ "
    "or .pi/agent-profiles/."
)
