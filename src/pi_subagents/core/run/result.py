"""
`result.json` as a value: written once by the process that ends a run, read by everyone.

In: a RunResult, or decoded JSON.  Out: the other.  The tools' words for a status
(`running | completed | error`) are derived here and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast, get_args

from pi_subagents.core import messages
from pi_subagents.core.run.checked import CLAIMED, Checked, checked_from_json, checked_to_json
from pi_subagents.core.run.outcome import Status
from pi_subagents.core.usage import Usage, usage_from_json, usage_to_json
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
    checked: Checked | None = None  # what its check said, where it has one
    changes: str = ""  # what it changed in a worktree of its own, in a few words
    value: Any = None  # the answer as a value, where it had to fit a schema and does
    has_value: bool = False  # null is a value, too
    parsed: Any = None  # the value as what a program asked for by a model class; kept nowhere
    resumed: str = ""  # how its session went on, NATIVE or REPLAY; nothing where it is a new one
    session_seal: str = ""  # proof that the child's own session is as it was kept

    @property
    def completed(self) -> bool:
        """Return whether the task was done."""
        return self.status == "completed"

    @property
    def model_used(self) -> str:
        """The model that answered last, with its provider as far as that is known."""
        return "/".join(filter(None, (self.provider, self.model)))

    @property
    def is_partial(self) -> bool:
        """Return whether its output is only what was said before it ended without an answer."""
        return not self.completed and bool(self.output)

    @property
    def value_text(self) -> str:
        """The value as JSON, as people write it; empty where there is none."""
        return json.dumps(self.value, ensure_ascii=False) if self.has_value else ""

    @property
    def answer(self) -> str:
        """Its output, and below it its value, unless the text holds that."""
        return answer_with_value(self.output, self.value_text)

    @property
    def work(self) -> str:
        """What it changed, and whether somebody checked that; empty where neither is known."""
        claimed = CLAIMED if self.changes and self.completed else ""
        return ", ".join(
            filter(None, (self.changes, self.checked.word if self.checked else claimed))
        )

    @property
    def no_answer(self) -> bool:
        """Return whether it completed and said nothing."""
        return self.completed and self.output == messages.NO_TEXT_OUTPUT


def answer_with_value(output: str, value: str) -> str:
    """Return a text, and below it a value, unless the text holds that."""
    return output if value in output else f"{output}\n\n{value}"


def tool_status(status: str) -> str:
    """Return the word of `delegate_to_subagents` for a state of the core."""
    if status == "completed":
        return "completed"
    return "error" if status in get_args(Status) else "running"


def result_to_json(result: RunResult) -> dict[str, object]:
    """Return the content of `result.json`."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        **value_to_json(result),
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
        **work_to_json(result),
        "resumed": result.resumed or None,
        "sessionSeal": result.session_seal or None,
    }


def work_to_json(result: RunResult | None) -> dict[str, object]:
    """Return what a run changed and what its check said, each where there is one."""
    if result is None:
        return {}
    checked = {"checked": checked_to_json(result.checked)} if result.checked else {}
    return {**checked, **({"changes": result.changes} if result.changes else {})}


def value_to_json(result: RunResult | None) -> dict[str, object]:
    """Return the value of a result under its name, where there is one."""
    return {"value": result.value} if result is not None and result.has_value else {}


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
        usage=usage_from_json(value.get("usage")),
        message_count=count_at(value, "messageCount"),
        tool_call_count=count_at(value, "toolCallCount"),
        started_at_ms=count_at(value, "startedAt"),
        finished_at_ms=count_at(value, "finishedAt"),
        duration_ms=count_at(value, "durationMs"),
        artifacts_truncated=value.get("artifactsTruncated") is True,
        checked=checked_from_json(value.get("checked")),
        changes=text_at(value, "changes"),
        value=value.get("value"),
        has_value="value" in value,
        resumed=text_at(value, "resumed"),
        session_seal=text_at(value, "sessionSeal"),
    )


def text_at(value: Mapping[str, object], key: str) -> str:
    """Return a text of decoded JSON, empty where there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def count_at(value: Mapping[str, object], key: str) -> int:
    """Return a whole number of decoded JSON, 0 where there is none."""
    found = value.get(key)
    return found if type(found) is int else 0
