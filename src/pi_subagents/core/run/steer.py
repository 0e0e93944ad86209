"""
A message for a sub-agent at work: the request, and what became of it.

In: the parameters of `steer_subagent`, then a Steered.  Out: checked values, then the tool's return
value.  A message that is not accepted is an answer, not an error: the sender learns why.
"""

from __future__ import annotations

from typing import Literal

from pi_subagents.core import messages
from pi_subagents.core.parameters import given_parameters, required_text, seconds, text_within
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.core.value import value

DEFAULT_WAIT_S = 30.0
MAX_WAIT_S = 3600.0

SteerStatus = Literal["delivered", "accepted", "refused"]


@value
class SteerRequest:
    """The message, its reader, and how long to wait until it is read."""

    any_id: str  # of a session, or of a run
    message: str
    wait_s: float = DEFAULT_WAIT_S


@value
class Steered:
    """
    What became of a message.

    `delivered`: the sub-agent has read it.  `accepted`: it is on its way, and `reason` states
    what it waits for.  `refused`: the sub-agent will not read it; `reason` states why.
    """

    run_id: str
    session_id: str
    name: str
    status: SteerStatus
    reason: str = ""
    called: str = ""  # what screens call it, where the task has no name of its own

    @property
    def text(self) -> str:
        """The same in a sentence."""
        return messages.steered(self.called or self.name, self.status, self.reason)


def parse_steer_request(parameters: object) -> SteerRequest:
    """Read the parameters of `steer_subagent`."""
    given = given_parameters(parameters, ("sessionId", "message", "waitSeconds"))
    return SteerRequest(
        any_id=required_text("sessionId", given.get("sessionId")),
        message=checked_message(required_text("message", given.get("message"))),
        wait_s=seconds("waitSeconds", given.get("waitSeconds", DEFAULT_WAIT_S), 0, MAX_WAIT_S),
    )


def checked_message(message: str) -> str:
    """Return the message, which must be neither empty nor too large."""
    return text_within("message", message, MAX_STEER_BYTES)


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
