"""
An answer to a question of a sub-agent: the request, and what became of it.

In: the parameters of `answer_subagent`, then an AnswerReport.  Out: checked values, then the tool's
return value.  An answer that is not accepted is an answer of ours, not an error: the sender learns
why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.parameters import given_parameters, optional_text, required_text, text_within
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import waiting_to_json
from pi_subagents.core.run.spec import MAX_ANSWER_BYTES
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.run.question import WaitingFor

ANSWER_WAIT_S = 10.0  # a child that is at work takes an answer at once

AnswerStatus = Literal["given", "refused", "asked"]


@value
class AnswerRequest:
    """The answer, whose question it is for, and which; without a text the question is shown."""

    any_id: str  # of a session, or of a run
    text: str = ""
    question: str = ""  # its id; the one that waits longest


@value
class AnswerReport:
    """
    What became of an answer.

    `given`: the sub-agent goes on with it.  `refused`: it does not, and `reason` states why.
    `asked`: there was no text, and `waiting_for` is the question.
    """

    run_id: str
    session_id: str
    name: str
    status: AnswerStatus
    reason: str = ""
    waiting_for: WaitingFor | None = None  # what it asks now, after a refusal too
    called: str = ""  # what screens call it, where the task has no name of its own

    @property
    def text(self) -> str:
        """The same in a sentence."""
        called = self.called or self.name
        match self.status:
            case "given":
                return run_messages.answer_given(called)
            case "asked":
                assert self.waiting_for is not None
                return run_messages.question_shown(
                    called, self.waiting_for.text, self.waiting_for.options
                )
            case _:
                return run_messages.answer_refused(called, self.reason)


def parse_answer_request(parameters: object) -> AnswerRequest:
    """Read the parameters of `answer_subagent`."""
    given = given_parameters(parameters, ("sessionId", "answer", "questionId"))
    return AnswerRequest(
        any_id=required_text("sessionId", given.get("sessionId")),
        text=checked_answer(required_text("answer", given.get("answer"))),
        question=optional_text("questionId", given.get("questionId")) or "",
    )


def checked_answer(text: str) -> str:
    """Return the answer, which must be neither empty nor too large."""
    return text_within("answer", text, MAX_ANSWER_BYTES)


def answer_report_to_json(report: AnswerReport) -> dict[str, object]:
    """Return the value of `answer_subagent`."""
    waiting = report.waiting_for
    return {
        "content": [{"type": "text", "text": report.text}],
        "details": {
            "sessionId": report.session_id,
            "runId": report.run_id,
            "taskName": report.name,
            "status": report.status,
            "reason": report.reason or None,
            "waitingFor": waiting and waiting_to_json(waiting),
        },
        "isError": False,
    }
