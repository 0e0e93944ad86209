"""`get_subagent_output`: the final text of a session, or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.retrieval import (
    OutputRequest,
    output_to_json,
    parse_output_request,
    with_words,
)
from pi_subagents.service.call import history_of, max_lines, runs_of, switch_of
from pi_subagents.service.sessions import wait_for_session
from pi_subagents.service.tools import messages, schemas
from pi_subagents.service.tools.outputs import with_text
from pi_subagents.service.tools.tool import SessionReading, Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options
    from pi_subagents.service.tools.tool import Given


async def _run(request: OutputRequest, options: Options) -> JsonObject:
    runs, history = runs_of(options), history_of(options)
    found = await wait_for_session(
        runs, request.session_id, request.wait_s, switch_of(options), history
    )
    return output_to_json(found, request, max_lines=max_lines(options))


def _narrow(given: Given, most: int) -> Given:
    whole = given.get("limit") is given.get("tail") is None
    return {**given, "limit": most} if whole else given


def _mark_cut(given: Given, answer: JsonObject, _most: int) -> JsonObject:
    details = answer["details"]
    assert isinstance(details, dict)
    shown, total = details.get("shownCharacters", 0), details["totalCharacters"]
    start = given.get("offset") or 0
    if given.get("tail") or not start < start + shown < total:
        return answer
    return with_words(answer, messages.text_goes_on(start, start + shown, total))


TOOL = Tool(
    name="get_subagent_output",
    description="Get the final text of a sub-agent session (its latest run). Says whether it is "
    "still running.",
    parameters={
        "type": "object",
        "properties": {
            "sessionId": {"type": "string", "description": "Its session id."},
            "waitSeconds": schemas.seconds("Wait so long for its end."),
            "offset": schemas.count("Skip so many characters."),
            "limit": schemas.count("At most so many."),
            "tail": schemas.count("Only the last so many."),
        },
        "required": ["sessionId"],
    },
    returns=schemas.record(
        {
            **schemas.SESSION,
            "totalCharacters": schemas.COUNT,
            "shownCharacters": schemas.COUNT,
            "text": schemas.TEXT,
        },
        "errorMessage",
        "shownCharacters",
    ),
    parse=lambda given, _: parse_output_request(given),
    run=_run,
    effect="reads",
    snippet="Read what a sub-agent answered",
    rules=("Read answers with get_subagent_output before you report on them.",),
    default_wait_s=0.0,
    reading=SessionReading(_narrow, _mark_cut),
    structured=with_text,
)
