"""What `faces/watch` says to people."""

from __future__ import annotations

from pi_subagents.core.plain_text import printable

NO_RUNS = 'No runs here yet. Try: subagents run --offline "List the files"'
NO_RUNS_ANYWHERE = "No runs on this machine yet."
NOTHING_WANTED = "No run matches the filter."
NO_SUCH_RUN = "There is no such run here. It may have been removed, or be of another project."
LOADING = "Reading the runs..."
EARLIER_LEFT_OUT = "(The earlier part of the transcript is not shown; it is in the run directory.)"
HOW_TO_END = "Ctrl+C closes the page; runs go on."
CLOSING = "The page is closed. Runs go on."


def serving(address: str) -> str:
    """Return where the page is."""
    return f"Watching on {address}"


def stop_question(name: str) -> str:
    """Return the question before a run is stopped."""
    return f"Stop {name}? Everything it started ends, too; the run stays in the list as stopped."


def resume_question(name: str) -> str:
    """Return the question for a new prompt."""
    return f"Go on with the session of {name}. What should it do now?"


def steer_question(name: str) -> str:
    """Return the question for a message."""
    return f"What should {name} know? It reads it after its current step."


def steering(name: str) -> str:
    """Return that a message is on its way."""
    return f"Sent to {name}..."


def take_question(name: str) -> str:
    """Return the question before changes are taken."""
    return f"Take what {name} changed into the checkout it was made for? All of it, or nothing."


def discard_question(name: str) -> str:
    """Return the question before changes are thrown away."""
    return f"Throw away what {name} changed? It cannot be had back."


def stopping(name: str) -> str:
    """Return that a run is being stopped."""
    return f"Stopping {name}..."


def opening(task: str) -> list[str]:
    """Return the lines above a transcript: what the run was asked, if that is known."""
    if not task.strip():
        return []
    lines = [line.expandtabs() for line in printable(task).splitlines()]
    return ["Task", *lines, "", "Transcript"]


def copied(text: str) -> str:
    """Return what is on the clipboard now."""
    return f"Copied: {text}"


def opened(path: str) -> str:
    """Return that a directory is shown elsewhere."""
    return f"Opened {path}"
