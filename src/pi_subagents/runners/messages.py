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


# Runs that workers of a cluster do.


def cluster_is_away(shown: str) -> str:
    """Return that the database does not answer, and what becomes of its runs."""
    return f"Cannot reach the cluster at {shown}; the run goes on there."


def cluster_is_back(shown: str) -> str:
    """Return that the database answers again."""
    return f"The cluster at {shown} answers again."


def cluster_refused(reason: str) -> str:
    """Return why the cluster did not take a run."""
    return f"The cluster did not take the task: {reason}"


def unknown_to_cluster(shown: str) -> str:
    """Return that a run was never submitted, or was removed there."""
    return f"The cluster at {shown} does not know this run."


def left_in_cluster(shown: str) -> str:
    """Return what becomes of a run that was to be stopped, and was out of reach."""
    return (
        f"Cannot reach the cluster at {shown}, so the run could not be stopped. It is stopped "
        "there 30 seconds after its caller was last heard of; look at it again later."
    )


def on_worker(worker: str, host: str) -> str:
    """Return which worker does a run."""
    return f"On the worker {worker}{f' ({host})' if host and host != worker else ''}"
