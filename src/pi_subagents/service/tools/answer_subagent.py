"""`answer_subagent`: an answer to what a sub-agent asks, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.answering import (
    AnswerRequest,
    answer_report_to_json,
    parse_answer_request,
)
from pi_subagents.service.call import runs_of, switch_of
from pi_subagents.service.tools import schemas
from pi_subagents.service.tools.tool import Tool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options


async def _run(request: AnswerRequest, options: Options) -> JsonObject:
    from pi_subagents.service.questions.answering import answer_run

    report = await answer_run(request, runs_of(options), switch_of(options))
    return answer_report_to_json(report)


TOOL = Tool(
    name="answer_subagent",
    description="Answer what a sub-agent asks.",
    parameters={
        "type": "object",
        "properties": {
            "sessionId": {"type": "string"},
            "answer": {"type": "string"},
        },
        "required": ["sessionId", "answer"],
    },
    returns=schemas.record(
        {
            **schemas.RUN,
            "taskName": schemas.TEXT,
            "status": {"type": "string", "enum": ["given", "refused", "asked"]},
            "reason": schemas.TEXT,
            "waitingFor": schemas.WAITING_FOR,
        },
        "reason",
        "waitingFor",
    ),
    parse=lambda given, _: parse_answer_request(given),
    run=_run,
    effect="acts",
    snippet="Answer a sub-agent's question",
)
