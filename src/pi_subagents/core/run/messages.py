"""What `core/run` says to people."""

from __future__ import annotations

WRAP_UP_LINE = "told to finish: its time is almost up"


def prompt_refused(reason: str) -> str:
    """Return why a child that was ready did not work on its prompt."""
    return f"Sub-agent could not begin: {reason}"


STEER_TOO_LATE = "The sub-agent had finished before the message reached it."
STEER_NOT_ANY_MORE = "The sub-agent is being stopped."


def steer_too_large(size: int, limit: int) -> str:
    """Return why a message is not taken as it is."""
    return f"must have at most {limit} bytes; this one has {size}"


def steered(name: str, status: str, reason: str) -> str:
    """Return what became of a message, in a sentence or two."""
    match status:
        case "delivered":
            return f"Delivered: {name} has read the message."
        case "accepted":
            return f"Accepted, not read yet. {reason}"
        case _:
            return f"Not delivered to {name}. {reason}"


def steer_line(text: str, refusal: str) -> str:
    """Return the line that tells, among what a sub-agent does, of a message to it."""
    return f"steering refused: {text} ({refusal})" if refusal else f"steered: {text}"


def wrap_up_line(refusal: str) -> str:
    """Return the line that tells of our own word to finish."""
    return f"not {WRAP_UP_LINE} ({refusal})" if refusal else WRAP_UP_LINE


# Messages of outcomes: values in a result, not exceptions.  Hosts and prompts rely on their words.


SPAWN_FAILED = "Failed to spawn sub-agent process"
LOOP_DETECTED = "Loop detected: sub-agent is repeating the same tool calls"
STOPPED_ON_REQUEST = "Stopped on request"
CHILD_REPORTED_ERROR = "The model reported an error without a message"
NOTE_NO_MODEL = (
    "pi has no model it may use. Set a provider's key (such as ANTHROPIC_API_KEY) or log in with "
    "pi itself; the README says how. `--offline` works without one."
)
NOTE_LENGTH = "The answer was cut by the model's length limit."
NOTE_EMPTY_ANSWER = "The sub-agent finished without any text."


def timed_out(timeout_s: float) -> str:
    """Return the message of a time-out, with whole seconds written whole."""
    return f"Timed out after {timeout_s:g}s. Consider resuming with a longer timeout."


def child_stopped_with(stop_reason: str) -> str:
    """Return why a child that settled did not answer."""
    return f"Sub-agent stopped without an answer (stop reason: {stop_reason or 'none'})"


def child_ended_early(
    *, exit_code: int | None, signal_name: str, has_spoken: bool, error_tail: str
) -> str:
    """Return why a child that ended by itself did not finish."""
    how = f"was killed by {signal_name}" if signal_name else f"exited with code {exit_code}"
    when = "before it finished" if has_spoken else "without an answer"
    return f"Sub-agent {how} {when}" + (f": {error_tail}" if error_tail else "")


def note_exit_after_answer(exit_code: int | None, signal_name: str) -> str:
    """Return the note on a child that answered and then ended badly."""
    how = signal_name or f"exit code {exit_code}"
    return f"The process ended with {how} after it had answered."
