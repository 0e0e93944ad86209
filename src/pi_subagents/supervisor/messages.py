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


def all_places_taken(most: int) -> str:
    """Return that as many children are at work as there may be."""
    return f"All places for children on this machine are taken (max_machine_children: {most})"


def all_of_provider_taken(provider: str, most: int) -> str:
    """Return that as many children of a provider are at work as there may be."""
    return f"All places for children of {provider} are taken (provider_limits: {most})"


def provider_limited(provider: str, until: str) -> str:
    """Return that a provider is not asked before a time."""
    return f"{provider} has reached its limit; goes on at {until}"


def one_by_one(provider: str) -> str:
    """Return that a child waits for its turn after a limit."""
    return f"{provider} was at its limit; children are let in one by one"


def limit_too_long(provider: str, until: str, most_s: int) -> str:
    """Return that a run does not wait as long as a limit takes."""
    most = f"{most_s / 3600:g} h" if most_s >= 3600 else f"{most_s} s"  # noqa: PLR2004 - an hour
    return (
        f"{provider} has reached its limit until {until}, and a run waits {most} at most "
        "(limit_wait_max). To go on then, resume it."
    )


def note_retried(count: int) -> str:
    """Return how often a sub-agent asked its model again by itself."""
    return f"Asked its model again {count} times" if count > 1 else "Asked its model again once"


def note_waited(provider: str, waited: str) -> str:
    """Return how long a run waited for its provider."""
    return f"Waited {waited} for {provider}, which had reached its limit"


GO_ON = "The request before this one met a limit that is over now. Go on where you were."
