"""`get_subagent_output`: the final text of a session, or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.history import output_text
from pi_subagents.core.session.retrieval import (
    ReadingRequest,
    output_to_json,
    parse_output_request,
)
from pi_subagents.service.call import history_of, runs_of, settings_of, switch_of
from pi_subagents.service.session.reading import piecewise, read_part
from pi_subagents.service.sessions import wait_for_session
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import with_text
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(request: ReadingRequest, options: Options) -> JsonObject:
    runs, history = runs_of(options), history_of(options)
    found = await wait_for_session(
        runs, request.session_id, request.wait_s, switch_of(options), history
    )
    part = await read_part(output_text(found[-1]), request.part)
    return output_to_json(found, part, settings_of(options))


TOOL = Tool(
    name="get_subagent_output",
    description="Get the final text of a sub-agent session, or how it stands.",
    parameters={
        "type": "object",
        "properties": {
            "sessionId": {"type": "string"},
            "waitSeconds": schemas.seconds("Wait for its end."),
            "offset": schemas.count("Skip characters."),
            "limit": schemas.count(),
            "tail": schemas.count(),
            "grep": {"type": "string", "description": "Only lines with this."},
            "regex": {"type": "boolean"},
            "context": schemas.count(),
        },
        "required": ["sessionId"],
    },
    returns=schemas.compact_record(
        {**schemas.SESSION, **schemas.PART, "waitingFor": schemas.WAITING_FOR},
        "sessionId",
        "status",
        "text",
    ),
    parse=lambda given, _: parse_output_request(given),
    run=_run,
    effect="reads",
    snippet="Read what a sub-agent answered",
    rules=("Read an answer that was cut with get_subagent_output before you report on it.",),
    default_wait_s=0.0,
    reading=piecewise("get_subagent_output"),
    structured=with_text,
)
