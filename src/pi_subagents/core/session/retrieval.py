"""
Requests for a session's text or for the list of profiles, and the answers to them.

In: the parameters of a retrieval tool, then what was found.  Out: checked values, then the tool's
return value.  Nothing is cut without a mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core import messages
from pi_subagents.core.parameters import given_parameters, required_text, seconds
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import QUESTION, waiting_part
from pi_subagents.core.run.result import work_to_json
from pi_subagents.core.session.next_calls import go_on
from pi_subagents.core.session.text_part import PART_KEYS, PartRequest, parse_part
from pi_subagents.core.usage import usage_to_json
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.session.text_part import TextPart
    from pi_subagents.core.settings import Settings

MAX_WAIT_S = 3600.0


@value
class ReadingRequest:
    """Which session, how long to wait for it, and which part of its text."""

    session_id: str
    wait_s: float = 0.0
    part: PartRequest = PartRequest()


def parse_output_request(parameters: object) -> ReadingRequest:
    """Read the parameters of `get_subagent_output`."""
    given = given_parameters(parameters, ("sessionId", "waitSeconds", *PART_KEYS))
    return ReadingRequest(
        required_text("sessionId", given.get("sessionId")),
        seconds("waitSeconds", given.get("waitSeconds", 0), 0, MAX_WAIT_S),
        parse_part(given),
    )


def parse_session_request(parameters: object) -> ReadingRequest:
    """Read the parameters of `get_subagent_session`."""
    given = given_parameters(parameters, ("sessionId", *PART_KEYS))
    session_id = required_text("sessionId", given.get("sessionId"))
    return ReadingRequest(session_id, part=parse_part(given))


def parse_list_request(parameters: object) -> None:
    """Check the parameters of `list_subagent_profiles`: there are none."""
    given_parameters(parameters, ())


def profiles_to_json(
    summaries: Mapping[str, str], scopes: Mapping[str, str], problems: tuple[str, ...]
) -> dict[str, object]:
    """Return the value of `list_subagent_profiles`: a line each, and what could not be read."""
    details: dict[str, object] = {"count": len(summaries)}
    if summaries:
        details |= {"profiles": dict(summaries), "scopes": dict(scopes)}
    if problems:
        details["problems"] = list(problems)
    return _answer("\n".join(summaries.values()) or messages.NO_PROFILES, details)


def output_to_json(
    runs: Sequence[RunRecord], part: TextPart, settings: Settings
) -> dict[str, object]:
    """Return the value of `get_subagent_output`: a part of what the latest run said."""
    details = _details(runs, settings)
    details["model"] = runs[-1].model_used or None
    return _answer(part.text, {**details, **_how_much(part)})


def session_to_json(
    runs: Sequence[RunRecord], part: TextPart, settings: Settings
) -> dict[str, object]:
    """Return the value of `get_subagent_session`: a part of what every run said and did."""
    latest = runs[-1]
    details = {
        **_details(runs, settings),
        "messageCount": sum(len(run.messages) for run in runs),
        "exitCode": latest.exit_code,
        "model": latest.model or None,
    }
    return _answer(part.text, {**details, **_how_much(part)})


def _how_much(part: TextPart) -> dict[str, object]:
    """Return how much of how much is shown."""
    shown: dict[str, object] = {"totalCharacters": part.total}
    if len(part.text) != part.total:
        shown["shownCharacters"] = len(part.text)
    if part.matching_lines is not None:
        shown["matchingLines"] = part.matching_lines
    return shown


def say_how_it_stands(
    answer: dict[str, Any],
    wait_s: float = MAX_WAIT_S,
    reason: Callable[[str, int], str] = one_line,
) -> dict[str, Any]:
    """Return the answer with a line for a model, which sees no details: running, or failed."""
    details = answer["details"]
    if waiting := details.get("waitingFor"):
        is_question = waiting["kind"] == QUESTION
        options = tuple(waiting["options"])
        word = run_messages.asks_model(waiting["text"], options) if is_question else waiting["text"]
        return with_words(answer, word)
    if details["status"] == "running":
        return with_words(answer, messages.session_goes_on(wait_s))
    words = [messages.session_work(details["work"])] if "work" in details else []
    if "errorMessage" in details:
        why = reason(details["errorMessage"], messages.MAX_MESSAGE)
        words.append(messages.session_failed(why))
    if "nextCall" in details:
        words.append(messages.session_can_go_on(details["nextCall"]))
    return with_words(answer, *words)


def with_words(answer: Mapping[str, Any], *words: str) -> dict[str, Any]:
    """Return a tool's answer with more lines, each in a text of its own."""
    texts = [{"type": "text", "text": each} for each in words]
    return {**answer, "content": [*answer["content"], *texts]}


def in_one_text(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with all its texts in one, as documented for these tools."""
    text = "\n\n".join(block["text"] for block in answer["content"])
    return {**answer, "content": [{"type": "text", "text": text}]}


def _details(runs: Sequence[RunRecord], settings: Settings) -> dict[str, object]:
    latest = runs[-1]
    details: dict[str, object] = {
        "sessionId": latest.session_id,
        "status": latest.tool_status,
        "taskName": latest.name,
        "runCount": len(runs),
        "maxLines": settings.max_lines_per_window,
        "usage": usage_to_json(latest.usage),
    }
    if latest.tool_status == "error":
        if latest.error_message:
            details["errorMessage"] = latest.error_message
        if latest.messages or latest.output:
            details["nextCall"] = go_on(
                latest.session_id,
                latest.name,
                settings.tools,
                error_message=latest.error_message,
                timeout_s=latest.meta.timeout_s,
            )
    if latest.work:
        details |= {"work": latest.work, **work_to_json(latest.result)}
    return {**details, **waiting_part(latest.waiting_for)}


def _answer(text: str, details: dict[str, object]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "details": details, "isError": False}
