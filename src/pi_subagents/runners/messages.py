"""What `runners` says to people."""

from __future__ import annotations

# Notices: shown once, before the work begins.

NOTICE_TMUX_INSIDE = (
    "Each sub-agent shows its transcript in a window of this tmux session, named sub-<run id>. "
    "Closing a window stops its run."
)


def notice_tmux_own(attach: str) -> str:
    """Return how to watch runs whose windows are on a tmux server of our own."""
    return f"Watch the sub-agents while they run: {attach}"


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.

NOTE_NO_SUPERVISOR = "The supervisor ended without writing a result."


def note_window_not_started(limit_s: float) -> str:
    """Return why a run never began in its tmux window."""
    return f"Its tmux window was closed, or did nothing, for {limit_s:g} s."


def note_tmux_silent(limit_s: float) -> str:
    """Return that tmux did not open a window in time."""
    return f"tmux gave no answer within {limit_s:g} s."


def note_tmux_refused(said: str) -> str:
    """Return that tmux opened no window, and what it said."""
    return f"tmux opened no window: {said or 'it gave no reason'}"
