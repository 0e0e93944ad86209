"""
The records of pi's JSON stream: how one line becomes one event.

In: any bytes.  Out: exactly one Event.  Never raises, keeps no state.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, cast

from pi_subagents.core import messages as core_messages
from pi_subagents.core.own_tools import SUBMIT_TOOL
from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import usage_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_MS = 10**12
# What was decoded must also be encodable again, several levels further in.
MAX_ARGUMENT_DEPTH = 64

# A tool's output so far, again and again: a long script repeats megabytes.  All of it
# comes when it ends, so that these are not even kept in the raw log.
REPEATED = b'{"type":"tool_execution_update"'

# Read as activity only: their content comes again, whole, in records we do decode.
# Testing the first bytes spares the decoding of two thirds of a stream.
_PASSED_OVER = tuple(
    b'{"type":"' + name + b'"'
    for name in (
        b"message_update",
        b"message_start",
        b"tool_execution_update",
        b"turn_end",
        b"agent_end",
    )
)
_PASSING_OVER = ev.Activity("passed over")


def decode_pi_line(line: bytes) -> ev.Event:
    """Turn one line of `pi --mode json` into an Event."""
    if line.startswith(_PASSED_OVER) and line.endswith(b"}"):
        return _PASSING_OVER
    if not line.lstrip().startswith(b"{"):  # a failed parse costs ten times this look
        return ev.OutputText(line.decode("utf-8", "replace"))
    try:
        record = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return ev.OutputText(line.decode("utf-8", "replace"))
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return ev.OutputText(line.decode("utf-8", "replace"))
    return _decode_record(record, record["type"])


def events_in(line: bytes, event: ev.Event) -> tuple[ev.Event, ...]:
    """Return the event of a line, and the value that came with it: our tool took an answer."""
    if isinstance(event, ev.ToolFinished) and event.name == SUBMIT_TOOL:
        result = as_mapping(json.loads(line, parse_float=_finite).get("result"))
        details = as_mapping(result.get("details"))
        taken = "value" in details and not (event.failed or event.parent_id)
        if taken and not _deeper_than(MAX_ARGUMENT_DEPTH, details["value"]):
            return event, ev.ValueGiven(details["value"])
    return (event,)


def decode_kept_message(message: object) -> ev.Event:
    """Turn one message as pi keeps it into an Event; tool results are messages there."""
    kept = as_mapping(message)
    if kept.get("role") == "toolResult":
        return _tool_finished(kept, kept.get("content"))
    return _decode_message(kept)


def _decode_record(record: dict[str, object], kind: str) -> ev.Event:
    if kind == "message_end":
        return _decode_message(as_mapping(record.get("message")))
    if kind == "tool_execution_start":
        keys = ("toolCallId", "toolName", "args", "parentToolCallId")
        return ev.ToolStarted(_tool_call(*(record.get(key) for key in keys)))
    if kind == "tool_execution_end":
        return _tool_finished(record, as_mapping(record.get("result")).get("content"))
    if kind == "auto_retry_start":
        return ev.Retrying(
            attempt=_count(record.get("attempt")),
            max_attempts=_count(record.get("maxAttempts")),
            delay_ms=_count(record.get("delayMs")),
            error_message=as_text(record.get("errorMessage")),
        )
    if kind == "agent_settled":
        return ev.Settled(aborted=record.get("aborted") is True)
    return ev.Activity(kind)


def _decode_message(message: Mapping[str, object]) -> ev.Event:
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        return ev.UserMessage(_content_text(content))
    if role != "assistant":
        # System prompts are not stored; tool results arrive as tool_execution_end.
        return ev.Activity(f"message of {as_text(role) or 'nobody'}")
    blocks = [as_mapping(block) for block in content] if isinstance(content, list) else []
    return ev.AssistantMessage(
        text=_content_text(content),
        tool_calls=tuple(
            _tool_call(block.get("id"), block.get("name"), block.get("arguments"))
            for block in blocks
            if block.get("type") == "toolCall"
        ),
        stop_reason=as_text(message.get("stopReason")),
        error_message=as_text(message.get("errorMessage")),
        provider=as_text(message.get("provider")),
        model=as_text(message.get("model")),
        usage=usage_from_json(message.get("usage")),
        duration_ms=_duration(message.get("durationMs")),
    )


def _tool_finished(record: Mapping[str, object], content: object) -> ev.ToolFinished:
    return ev.ToolFinished(
        call_id=as_text(record.get("toolCallId")),
        name=as_text(record.get("toolName")),
        text=_content_text(content),
        failed=record.get("isError") is True,
        parent_id=as_text(record.get("parentToolCallId")),
        duration_ms=_duration(record.get("durationMs")),
    )


def _tool_call(
    call_id: object, name: object, arguments: object, parent_id: object = None
) -> ev.ToolCall:
    usable = isinstance(arguments, dict) and not _deeper_than(MAX_ARGUMENT_DEPTH, arguments)
    return ev.ToolCall(
        call_id=as_text(call_id),
        name=as_text(name) or "tool",
        arguments=cast("dict[str, object]", arguments) if usable else None,
        parent_id=as_text(parent_id),
    )


def _deeper_than(limit: int, value: object) -> bool:
    """Return whether containers nest deeper than `limit`, without recursion of our own."""
    level: list[object] = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _content_text(content: object) -> str:
    """Join every text block: later blocks count as much as the first."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (as_mapping(block) for block in content)
    return "\n".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")


def as_mapping(value: object) -> Mapping[str, object]:
    """Return an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """Return a text of JSON; an empty one for anything else."""
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _duration(value: object) -> int:
    """Read milliseconds, whole or not; what no run can take is not known."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return round(value) if 0 <= value <= _LONGEST_MS else 0


def _no_constant(_name: str) -> None:
    """Read NaN and Infinity as null: they are not JSON, and could not be written again."""


def _finite(digits: str) -> float | None:
    """Read a number too large for a float as null: it would become Infinity."""
    number = float(digits)
    return number if math.isfinite(number) else None


def advice_on(last_words: str) -> tuple[str, ...]:
    """Return what a user can do about what pi said at last, if that is known."""
    return (core_messages.NOTE_NO_MODEL,) if "No API key found" in last_words else ()
