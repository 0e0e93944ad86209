"""`get_subagent_session`: all that was said and done in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.session.retrieval import parse_session_request, session_to_json, with_words
from pi_subagents.service.call import history_of, max_lines, runs_of
from pi_subagents.service.sessions import find_session
from pi_subagents.service.tools import messages, schemas
from pi_subagents.service.tools.outputs import answer_text, with_text
from pi_subagents.service.tools.tool import SessionReading, Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options
    from pi_subagents.service.tools.tool import Given


async def _run(session_id: str, options: Options) -> JsonObject:
    found = find_session(runs_of(options), session_id, history_of(options))
    return session_to_json(found, max_lines=max_lines(options))


def _mark_cut(_asked: Given, answer: JsonObject, most: int) -> JsonObject:
    text, details = answer_text(answer), answer["details"]
    if len(text) <= most:
        return answer
    assert isinstance(details, dict)
    cut = {
        **answer,
        "details": {**details, "totalCharacters": len(text), "shownCharacters": most},
        "content": [{"type": "text", "text": text[:most]}],
    }
    return with_words(cut, messages.transcript_goes_on(most, len(text), details["sessionId"]))


TOOL = Tool(
    name="get_subagent_session",
    description="Get the complete transcript of a sub-agent session: all runs with messages, tool "
    "calls and shortened results.",
    parameters={
        "type": "object",
        "properties": {"sessionId": {"type": "string"}},
        "required": ["sessionId"],
    },
    returns=schemas.record(
        {
            **schemas.SESSION,
            "messageCount": schemas.COUNT,
            "exitCode": schemas.OPTIONAL_COUNT,
            "model": schemas.OPTIONAL_TEXT,
            "totalCharacters": schemas.COUNT,
            "shownCharacters": schemas.COUNT,
            "text": schemas.TEXT,
        },
        "errorMessage",
        "totalCharacters",
        "shownCharacters",
    ),
    parse=lambda given, _: parse_session_request(given),
    run=_run,
    effect="reads",
    snippet="Read all that a sub-agent said and did",
    rules=("Use get_subagent_session only if an answer does not explain itself.",),
    reading=SessionReading(lambda given, _: given, _mark_cut),
    structured=with_text,
)
