"""What `store` says to people."""

from __future__ import annotations

NOTE_PUT_DOWN = "Its supervisor no longer answered and was ended, with everything below it."
NOTE_NOT_KEPT = "This result could not be kept on disk: it is only here."
NOTE_BY_CHANNEL = (
    "What was in result.json at the end was not what the supervisor wrote: this is what it handed "
    "to its caller."
)
NOTE_BY_JOURNAL = "Its result.json was not written by us: this is what its journal has."
LEDGER_IS_NEWER = "it was written by a newer version of pi-subagents"
FAILED_BY_JOURNAL = "The run failed; its journal does not say why"


def note_result_was_there(aside: str) -> str:
    """Return the note on something that was in the place of the result and is not ours."""
    return f"Something that is not ours was in the place of result.json; it is kept as {aside}"


SESSION_IS_GONE = "its file is gone"
SESSION_CHANGED = "its file is not as it was when the run ended"


def larger_than(limit: int) -> str:
    """Return why a file is not kept."""
    return f"it has more than {limit} bytes"


def note_session_not_kept(name: str, reason: str) -> str:
    """Return the note on a child's own session without which a resumed run cannot continue it."""
    return f"{name} was not kept ({reason}): a resumed run is told what happened instead."


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.

NOTE_HAD_ANSWERED = "The sub-agent had answered before it was interrupted."
NOTE_OUTPUT_CUT = "There was no room on disk for the whole output; its end is missing."
NOTE_PROCESSES_LEFT = "Some processes of the sub-agent could not be ended."


def note_ran_on(worker: str, host: str) -> str:
    """Return which worker of a cluster did the run."""
    return f"It ran on the worker {worker}{f' ({host})' if host and host != worker else ''}."


def note_log_cut(name: str, limit: int) -> str:
    """Return the note on an artifact that reached its cap."""
    return f"{name} reached its limit of {limit} bytes; what followed was not kept."


def note_log_unwritable(name: str, reason: str) -> str:
    """Return the note on an artifact that the system could not write any more."""
    return f"{name} could not be written ({reason}); what followed was not kept."
