"""What users read when a supervisor hung, or files of a run were taken away or replaced."""

from __future__ import annotations

NOTE_PUT_DOWN = "Its supervisor did not answer any more and was ended, with everything below it."
NOTE_NOT_KEPT = "This result could not be kept on disk: it is told here only."
NOTE_BY_CHANNEL = (
    "What stood in result.json at the end was not what the supervisor wrote: this is what it told "
    "its caller."
)
NOTE_BY_JOURNAL = "Its result.json was not written by us: this is what its journal tells."
FAILED_BY_JOURNAL = "The run failed; its journal does not tell why"


def note_rescued(directory: str, place: str) -> str:
    """Return where a run is kept whose directory went while it ran."""
    return f"Its directory {directory} was removed while it ran; what it left is in {place}"


def note_result_was_there(aside: str) -> str:
    """Return that somebody else's file, or whatever it is, stood in the place of the result."""
    return f"Something stood in the place of result.json that was not ours; it is kept as {aside}"
