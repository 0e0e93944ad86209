"""
What users read about children that take commands: refused prompts, dialogs, steering, wrapping up.

In: facts.  Out: sentences.  Nothing else in the code words these things.
"""

from __future__ import annotations

WRAP_UP = (
    "Your time is almost up. Do not start anything new: finish now with what you have, and say "
    "what is missing."
)
NO_RUN_STARTED = (
    "pi took the prompt but began no work on it; an extension may have handled it instead"
)
ASKED_TOO_EARLY = (
    "an extension asked a question while pi started, and pi takes no answers then; keep that "
    'extension from sub-agents, or set `subagents.child_mode` to "json" in pi\'s settings'
)
SESSION_NOT_OPENED = "the child did not open a new session in time"
SESSION_REFUSED = "an extension of the child did not let it begin a new session"
STEER_TOO_LATE = "The sub-agent had finished before the message reached it."
STEER_NOT_ANY_MORE = "The sub-agent is being stopped."
STEER_UNREADABLE = "The message could not be read."
STEER_JSON_MODE = (
    "The sub-agent was started in JSON mode, which takes no messages. Set `subagents.child_mode` "
    'to "rpc" in pi\'s settings and delegate again.'
)


STEER_AFTER_THIS_STEP = "The sub-agent reads it after its current step."
STEER_AT_ITS_START = "The sub-agent has not begun yet; it reads it when it does."
STEER_NOBODY_LISTENS = "Nobody takes messages for this sub-agent."
WRAP_UP_LINE = "told to finish: its time is almost up"


def type_it(what: str) -> str:
    """Return what to do at a terminal that is waited for."""
    return f"Type {what}; Ctrl+D sends it."


def prompt_refused(reason: str) -> str:
    """Return why a child that was ready did not work on its prompt."""
    return f"Sub-agent could not begin: {reason}"


def note_dialog(method: str, title: str) -> str:
    """Return the note on a question nobody could answer."""
    about = f' ("{title}")' if title else ""
    return f"An extension of the sub-agent asked a question ({method}{about}); it was dismissed."


def steer_refused_by_child(reason: str) -> str:
    """Return why pi itself did not take a message."""
    return f"pi refused the message: {reason}"


def steer_after_end(status: str, session_id: str) -> str:
    """Return why a message for a run that is over is not kept."""
    return (
        f"The sub-agent is not at work any more (status: {status}). To go on with what it did, "
        f"delegate a task that resumes session {session_id}."
    )


def steer_too_large(size: int, limit: int) -> str:
    """Return why a message is not taken as it is."""
    return f"must have at most {limit} bytes; this one has {size}"


def steer_not_kept(reason: str) -> str:
    """Return that a message could not be handed over."""
    return f"The message could not be handed over: {reason}"


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


def pi_is_newer(pi: str, tested: str) -> str:
    """Return the note on a pi that nobody has tried with us yet; said once for each version."""
    return (
        f"{pi} is newer than the newest that pi-subagents was tested with ({tested}). "
        "It is used all the same; if something looks wrong, `subagents setup` installs that one."
    )
