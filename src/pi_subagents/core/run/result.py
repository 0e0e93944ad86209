"""
`result.json` as a value: written once by the process that ends a run, read by everyone.

In: a RunResult, or decoded JSON.  Out: the other.  The tools' words for a status
(`running | completed | error`) are derived here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from pi_subagents.core.run.outcome import Status
from pi_subagents.core.usage import Usage, parse_usage, usage_to_json
from pi_subagents.core.value import value

SCHEMA_VERSION = 1


@value
class RunResult:
    """How a run ended, with everything a caller may want to know."""

    run_id: str
    session_id: str
    name: str
    status: Status
    output: str = ""
    error_message: str = ""
    notes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal_name: str = ""
    stop_reason: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    message_count: int = 0
    tool_call_count: int = 0
    started_at_ms: int = 0
    finished_at_ms: int = 0
    duration_ms: int = 0
    artifacts_truncated: bool = False

    @property
    def completed(self) -> bool:
        """Return whether the task was done."""
        return self.status == "completed"


def tool_status(status: str) -> str:
    """Return the word of `delegate_to_subagents` for a state of the core."""
    if status == "completed":
        return "completed"
    return "error" if status in get_args(Status) else "running"


def result_to_json(result: RunResult) -> dict[str, object]:
    """Return the content of `result.json`."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "runId": result.run_id,
        "sessionId": result.session_id,
        "name": result.name,
        "status": result.status,
        "output": result.output,
        "errorMessage": result.error_message or None,
        "notes": list(result.notes),
        "exitCode": result.exit_code,
        "signal": result.signal_name or None,
        "stopReason": result.stop_reason or None,
        "provider": result.provider or None,
        "model": result.model or None,
        "usage": usage_to_json(result.usage),
        "messageCount": result.message_count,
        "toolCallCount": result.tool_call_count,
        "startedAt": result.started_at_ms,
        "finishedAt": result.finished_at_ms,
        "durationMs": result.duration_ms,
        "artifactsTruncated": result.artifacts_truncated,
    }


def result_from_json(value: object) -> RunResult | None:
    """Return the result, or None where the content is not one we can trust."""
    if not isinstance(value, Mapping) or value.get("schemaVersion") != SCHEMA_VERSION:
        return None
    status = value.get("status")
    notes = value.get("notes")
    if status not in get_args(Status) or not isinstance(value.get("runId"), str):
        return None
    exit_code = value.get("exitCode")
    return RunResult(
        run_id=text_at(value, "runId"),
        session_id=text_at(value, "sessionId"),
        name=text_at(value, "name"),
        status=cast("Status", status),
        output=text_at(value, "output"),
        error_message=text_at(value, "errorMessage"),
        notes=tuple(str(note) for note in notes) if isinstance(notes, list) else (),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        signal_name=text_at(value, "signal"),
        stop_reason=text_at(value, "stopReason"),
        provider=text_at(value, "provider"),
        model=text_at(value, "model"),
        usage=parse_usage(value.get("usage")),
        message_count=count_at(value, "messageCount"),
        tool_call_count=count_at(value, "toolCallCount"),
        started_at_ms=count_at(value, "startedAt"),
        finished_at_ms=count_at(value, "finishedAt"),
        duration_ms=count_at(value, "durationMs"),
        artifacts_truncated=value.get("artifactsTruncated") is True,
    )


def text_at(value: Mapping[str, object], key: str) -> str:
    """Return a text of decoded JSON, empty where there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def count_at(value: Mapping[str, object], key: str) -> int:
    """Return a whole number of decoded JSON, 0 where there is none."""
    found = value.get(key)
    return found if type(found) is int else 0
