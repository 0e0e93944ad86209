"""What `supervisor` says to people."""

from __future__ import annotations

NOT_IN_ITS_WORKTREE = "it was started, and is not in its worktree"
NOT_CONFINED = "its writing could not be confined"
STEER_UNREADABLE = "The message could not be read."
ANSWER_UNREADABLE = "The answer could not be read."


def linked(names: tuple[str, ...]) -> str:
    """Return what a worktree has in common with the checkout it was made of."""
    return f"Linked into the worktree, and shared with the checkout: {', '.join(names)}"


def set_up(command: str, exit_code: int | None, took_s: float, tail: str) -> str:
    """Return what came of the command that makes a worktree ready (workspace_setup)."""
    done = "finished" if exit_code == 0 else "failed"
    code = "was ended" if exit_code is None else f"exit code {exit_code}"
    said = f":\n{tail.rstrip()}" if tail.strip() else ""
    return f"Workspace setup: {command} {done} after {took_s:.1f} s ({code}){said}"


def checked(command: str, exit_code: int | None) -> str:
    """Return what a check of ours came to."""
    if exit_code == 0:
        return f"Checked: {command} passed"
    code = "was ended" if exit_code is None else f"exit code {exit_code}"
    return f"Checked: {command} failed ({code})"


def check_failed(command: str, exit_code: int | None, tail: str) -> str:
    """Return what a child is told whose work did not pass."""
    code = "was ended" if exit_code is None else f"ended with exit code {exit_code}"
    return (
        f"Your work was checked: `{command}` {code}.\n"
        f"Mend it, then answer again in full. The end of what it printed:\n\n{tail}"
    )


def note_rescued(directory: str, place: str) -> str:
    """Return where a run is kept whose directory went while it ran."""
    return f"Its directory {directory} was removed while it ran; what it left is in {place}"


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.

NOTE_FORCED = "The process did not exit after its answer and was ended."


def note_line_skipped(size: int, limit: int) -> str:
    """Return the note on a line that was too long to read."""
    return f"A line of {size} bytes was skipped: the limit is {limit} bytes."


def supervisor_failed(reason: str) -> str:
    """Return the message of a run whose supervisor failed: a fault of ours, worth a report."""
    return f"Internal error in the supervisor: {reason}"


def check_not_passed(command: str, exit_code: int | None) -> str:
    """Return the message of a run that says it is done, and did not pass its check."""
    code = "was ended" if exit_code is None else f"exit code {exit_code}"
    return f"Its work did not pass the check: {command} ({code})"
