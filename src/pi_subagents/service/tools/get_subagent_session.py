"""`get_subagent_session`: all that was said and done in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.history import session_text
from pi_subagents.core.session.retrieval import (
    ReadingRequest,
    parse_session_request,
    session_to_json,
)
from pi_subagents.service.call import history_of, runs_of, settings_of
from pi_subagents.service.session.reading import piecewise, read_part
from pi_subagents.service.sessions import find_session
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.outputs import with_text
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(request: ReadingRequest, options: Options) -> JsonObject:
    found = find_session(runs_of(options), request.session_id, history_of(options))
    part = await read_part(session_text(found), request.part)
    return session_to_json(found, part, settings_of(options))


TOOL = Tool(
    name="get_subagent_session",
    description="Get the transcript of a sub-agent session, results shortened.",
    parameters={
        "type": "object",
        "properties": {"sessionId": {"type": "string"}, **schemas.LISTED_PART},
        "required": ["sessionId"],
    },
    returns=schemas.compact_record(
        {
            **schemas.SESSION,
            "messageCount": schemas.COUNT,
            "exitCode": schemas.COUNT,
            **schemas.PART,
            "waitingFor": schemas.WAITING_FOR,
        },
        "sessionId",
        "status",
        "text",
    ),
    parse=lambda given, _: parse_session_request(given),
    run=_run,
    effect="reads",
    snippet="Read all that a sub-agent said and did",
    rules=("Use get_subagent_session only if an answer does not explain itself.",),
    reading=piecewise("get_subagent_session"),
    structured=with_text,
)
