"""
Tell the results of a delegation: summary lines and the tool's return value.

In: results in task order.  Out: text and plain JSON values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.request import MAX_NAME_LENGTH
from pi_subagents.core.run_result import RunResult, tool_status
from pi_subagents.core.usage import usage_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_MESSAGE = 1000


def summary_line(result: RunResult) -> str:
    """Return the line for one task."""
    mark = "✓" if result.completed else "✗"
    status = tool_status(result.status)
    message = one_line(result.error_message, MAX_MESSAGE)
    told = f"{status} — {message}" if message else status
    return f"{mark} {one_line(result.name, MAX_NAME_LENGTH)}: {told} (session: {result.session_id})"


def delegation_to_json(results: Sequence[RunResult], *, max_lines: int) -> dict[str, object]:
    """Return the value of `delegate_to_subagents`."""
    return {
        "content": _text("\n".join(summary_line(result) for result in results)),
        "details": {
            "status": "done",
            "maxLines": max_lines,
            "sessionIds": [result.session_id for result in results],
            "results": [_entry(result) for result in results],
        },
        "isError": False,
    }


def refusal_to_json(message: str) -> dict[str, object]:
    """Return the value of a call that was refused before anything started."""
    return {"content": _text(message), "details": {"isError": True}, "isError": True}


def _entry(result: RunResult) -> Mapping[str, object]:
    return {
        "name": result.name,
        "sessionId": result.session_id,
        "runId": result.run_id,
        "status": tool_status(result.status),
        "output": result.output,
        "errorMessage": result.error_message or None,
        "exitCode": result.exit_code,
        "durationMs": result.duration_ms,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
    }


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]
