"""
Tell the results of a delegation: summary lines and the tool's return value.

In: results in task order.  Out: text and plain JSON values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.messages import MAX_MESSAGE
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.result import RunResult, tool_status
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view.window_view import window_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.view.window import Window


def summary_line(result: RunResult, profile: str = "") -> str:
    """Return the line for one task, with the profile it was to run with."""
    mark = "✓" if result.completed else "✗"
    status = tool_status(result.status)
    message = one_line(result.error_message, MAX_MESSAGE)
    told = f"{status} — {message}" if message else status
    name, used = (one_line(text, MAX_NAME_LENGTH) for text in (result.name, profile))
    ending = f" [profile: {used}]" if used else ""
    return f"{mark} {name}: {told} (session: {result.session_id}){ending}"


def delegation_to_json(
    results: Sequence[RunResult], windows: Sequence[Window], *, max_lines: int
) -> dict[str, object]:
    """Return the value of `delegate_to_subagents`."""
    return {
        "content": _text(summary_text(results, windows)),
        "details": {
            "status": "done",
            "maxLines": max_lines,
            "windows": [window_to_json(window) for window in windows],
            "sessionIds": [result.session_id for result in results],
            "results": [_entry(result) for result in results],
        },
        "isError": False,
    }


def summary_text(results: Sequence[RunResult], windows: Sequence[Window]) -> str:
    """Return a line per task."""
    return "\n".join(
        summary_line(result, window.title.profile)
        for result, window in zip(results, windows, strict=True)
    )


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
