"""What `supervisor` says to people."""

from __future__ import annotations

STEER_UNREADABLE = "The message could not be read."


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
