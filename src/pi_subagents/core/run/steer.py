"""
A message for a sub-agent at work: what is asked, and what became of it.

In: the parameters of `steer_subagent`, then a Steered.  Out: checked values, then the tool's return
value.  A message that nobody takes is an answer, not an error: whoever sent it learns why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pi_subagents.core import messages as core_messages
from pi_subagents.core.parameters import refuse_unknown, required_text, seconds
from pi_subagents.core.run import messages
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.core.value import value
from pi_subagents.errors import InvalidRequest

DEFAULT_WAIT_S = 30.0
MAX_WAIT_S = 3600.0

SteerStatus = Literal["delivered", "accepted", "refused"]


@value
class SteerRequest:
    """Who is to read what, and how long that is waited for."""

    any_id: str  # of a session, or of a run
    message: str
    wait_s: float = DEFAULT_WAIT_S


@value
class Steered:
    """
    What became of a message.

    `delivered`: the sub-agent has read it.  `accepted`: it is on its way, and `reason` says what it
    waits for.  `refused`: the sub-agent will not read it, and `reason` says why.
    """

    run_id: str
    session_id: str
    name: str
    status: SteerStatus
    reason: str = ""

    @property
    def text(self) -> str:
        """The same in a sentence."""
        return messages.steered(self.name, self.status, self.reason)


def parse_steer_request(parameters: object) -> SteerRequest:
    """Read the parameters of `steer_subagent`."""
    if not isinstance(parameters, Mapping):
        raise InvalidRequest("parameters", core_messages.NEEDS_OBJECT)
    refuse_unknown("parameters", parameters, ("sessionId", "message", "waitSeconds"))
    wait = parameters.get("waitSeconds")
    return SteerRequest(
        any_id=required_text("sessionId", parameters.get("sessionId")),
        message=checked_message(required_text("message", parameters.get("message"))),
        # Models write null where they mean to leave something out.
        wait_s=seconds("waitSeconds", DEFAULT_WAIT_S if wait is None else wait, 0, MAX_WAIT_S),
    )


def checked_message(message: str) -> str:
    """Return a message that says something, and not too much."""
    if not message.strip():
        raise InvalidRequest("message", core_messages.MUST_NOT_BE_EMPTY)
    size = len(message.encode("utf-8", "replace"))
    if size > MAX_STEER_BYTES:
        raise InvalidRequest("message", messages.steer_too_large(size, MAX_STEER_BYTES))
    return message


def steered_to_json(steered: Steered) -> dict[str, object]:
    """Return the value of `steer_subagent`."""
    return {
        "content": [{"type": "text", "text": steered.text}],
        "details": {
            "sessionId": steered.session_id,
            "runId": steered.run_id,
            "taskName": steered.name,
            "status": steered.status,
            "reason": steered.reason or None,
        },
        "isError": False,
    }
