"""`steer_subagent`: a message for a sub-agent at work, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.steer import (
    DEFAULT_WAIT_S,
    SteerRequest,
    parse_steer_request,
    steered_to_json,
)
from pi_subagents.service.call import runs_of, switch_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(request: SteerRequest, options: Options) -> JsonObject:
    from pi_subagents.service.steering import steer_run

    return steered_to_json(await steer_run(request, runs_of(options), switch_of(options)))


TOOL = Tool(
    name="steer_subagent",
    description="Send a message to a sub-agent at work; read after this step.",
    parameters={
        "type": "object",
        "properties": {
            "sessionId": {"type": "string"},
            "message": {"type": "string"},
            "waitSeconds": schemas.seconds(),
        },
        "required": ["sessionId", "message"],
    },
    returns=schemas.record(
        {
            **schemas.RUN,
            "taskName": schemas.TEXT,
            "status": {"type": "string", "enum": ["delivered", "accepted", "refused"]},
            "reason": schemas.TEXT,
        },
        "reason",
    ),
    parse=lambda given, _: parse_steer_request(given),
    run=_run,
    effect="acts",
    snippet="Tell a sub-agent at work something",
    default_wait_s=DEFAULT_WAIT_S,
)
