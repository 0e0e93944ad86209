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
from pi_subagents.core.session.history import output_text, session_text
from pi_subagents.core.value import value
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord

MAX_WAIT_S = 3600.0


@value
class OutputRequest:
    """Which session, how long to wait for it, and which part of its text."""

    session_id: str
    wait_s: float = 0.0
    offset: int = 0
    limit: int | None = None
    tail: int | None = None


def parse_output_request(parameters: object) -> OutputRequest:
    """Read the parameters of `get_subagent_output`."""
    known = ("sessionId", "waitSeconds", "offset", "limit", "tail")
    given = given_parameters(parameters, known)
    return OutputRequest(
        session_id=required_text("sessionId", given.get("sessionId")),
        wait_s=seconds("waitSeconds", given.get("waitSeconds", 0), 0, MAX_WAIT_S),
        offset=_count(given, "offset") or 0,
        limit=_count(given, "limit"),
        tail=_count(given, "tail"),
    )


def parse_session_request(parameters: object) -> str:
    """Read the parameters of `get_subagent_session`: the session's id."""
    given = given_parameters(parameters, ("sessionId",))
    return required_text("sessionId", given.get("sessionId"))


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
    runs: Sequence[RunRecord], request: OutputRequest, *, max_lines: int
) -> dict[str, object]:
    """Return the value of `get_subagent_output`: the latest run speaks."""
    latest = runs[-1]
    text = output_text(latest)
    tail = request.tail
    part = text[request.offset :] if tail is None else text[max(len(text) - tail, 0) :]
    part = part if request.limit is None else part[: request.limit]
    details = {**_details(runs, max_lines), "totalCharacters": len(text)}
    if part != text:
        details["shownCharacters"] = len(part)
    return _answer(part, details)


def session_to_json(runs: Sequence[RunRecord], *, max_lines: int) -> dict[str, object]:
    """Return the value of `get_subagent_session`: every run, one after the other."""
    latest = runs[-1]
    details = {
        **_details(runs, max_lines),
        "messageCount": sum(len(run.messages) for run in runs),
        "exitCode": latest.exit_code,
        "model": latest.model or None,
    }
    return _answer(session_text(runs), details)


def say_how_it_stands(answer: dict[str, Any], wait_s: float = MAX_WAIT_S) -> dict[str, Any]:
    """Return the answer with a line for a model, which sees no details: running, or failed."""
    details = answer["details"]
    if details["status"] == "running":
        word = messages.session_goes_on(wait_s)
    elif "errorMessage" in details:
        word = messages.session_failed(one_line(details["errorMessage"], messages.MAX_MESSAGE))
    else:
        return answer
    return with_words(answer, word)


def with_words(answer: Mapping[str, Any], *words: str) -> dict[str, Any]:
    """Return a tool's answer with more lines, each in a text of its own."""
    texts = [{"type": "text", "text": each} for each in words]
    return {**answer, "content": [*answer["content"], *texts]}


def in_one_text(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with all its texts in one, as documented for these tools."""
    text = "\n\n".join(block["text"] for block in answer["content"])
    return {**answer, "content": [{"type": "text", "text": text}]}


def _details(runs: Sequence[RunRecord], max_lines: int) -> dict[str, object]:
    latest = runs[-1]
    details: dict[str, object] = {
        "sessionId": latest.session_id,
        "status": latest.tool_status,
        "taskName": latest.name,
        "runCount": len(runs),
        "maxLines": max_lines,
    }
    if latest.tool_status == "error" and latest.error_message:
        details["errorMessage"] = latest.error_message
    return details


def _answer(text: str, details: dict[str, object]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": text}], "details": details, "isError": False}


def _count(given: Mapping[str, object], key: str) -> int | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(key, messages.MUST_BE_COUNT)
    return value
