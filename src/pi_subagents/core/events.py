"""
The events of a run, and how one line of pi's JSON stream becomes one of them.

In: any bytes.  Out: exactly one Event.  Never raises, keeps no state, knows nothing about
display.  The same values travel through the journal (`journal.py`), the guards, the
outcome and every face.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, cast

from pi_subagents.core.usage import Usage, parse_usage
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_MS = 10**12
# What was decoded must also be encodable again, several levels further in.
MAX_ARGUMENT_DEPTH = 64

# What a tool has said so far, again and again: a long script repeats megabytes.  Its last word
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


@value
class StateChanged:
    """The run moved to another of its states."""

    state: str


@value
class UserMessage:
    """What the child was asked."""

    text: str


@value
class ToolCall:
    """
    One call the model asked for; `arguments` is None where the child sent none.

    A call that another tool made (a script of codemode) has that one's id as `parent_id`.
    """

    call_id: str
    name: str
    arguments: Mapping[str, object] | None
    parent_id: str = ""


@value
class AssistantMessage:
    """One complete answer of the model, with the calls it asks for."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    stop_reason: str = ""
    error_message: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    duration_ms: int = 0  # 0 where the child does not tell


@value
class ToolStarted:
    """The child began to execute a call."""

    call: ToolCall


@value
class ToolFinished:
    """The child finished a call."""

    call_id: str
    name: str
    text: str
    failed: bool
    parent_id: str = ""
    duration_ms: int = 0  # 0 where the child does not tell


@value
class Retrying:
    """The child waits and asks its model again."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


@value
class Settled:
    """The child has nothing left to do; `aborted` where it says that it was told to stop."""

    aborted: bool = False


@value
class OutputText:
    """A line on standard output that is no record of the protocol."""

    text: str


@value
class ErrorText:
    """A line on standard error."""

    text: str


@value
class Note:
    """Something the supervisor has to say: a line skipped, a log cut."""

    text: str


@value
class Steer:
    """What became of a message to a child at work: it read it, or it was refused."""

    number: str
    status: str
    text: str
    reason: str = ""


@value
class Activity:
    """A record that only shows the child is at work; it is not journaled."""

    kind: str


DELIVERED, REFUSED = ("delivered", "refused")
WRAP_UP = "wrap-up"  # the number of our own message, before a time-out
_PASSING_OVER = Activity("passed over")

Event = (
    StateChanged
    | UserMessage
    | AssistantMessage
    | ToolStarted
    | ToolFinished
    | Retrying
    | Settled
    | OutputText
    | ErrorText
    | Note
    | Steer
    | Activity
)


def decode_pi_line(line: bytes) -> Event:
    """Turn one line of `pi --mode json` into an Event."""
    if line.startswith(_PASSED_OVER) and line.endswith(b"}"):
        return _PASSING_OVER
    if not line.lstrip().startswith(b"{"):  # a failed parse costs ten times this look
        return OutputText(line.decode("utf-8", "replace"))
    try:
        record = json.loads(line, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        return OutputText(line.decode("utf-8", "replace"))
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        return OutputText(line.decode("utf-8", "replace"))
    return _decode_record(record, record["type"])


def decode_kept_message(message: object) -> Event:
    """Turn one message as pi keeps it into an Event; tool results are messages there."""
    kept = _mapping(message)
    if kept.get("role") == "toolResult":
        return _tool_finished(kept, kept.get("content"))
    return _decode_message(kept)


def _decode_record(record: dict[str, object], kind: str) -> Event:
    if kind == "message_end":
        return _decode_message(_mapping(record.get("message")))
    if kind == "tool_execution_start":
        return ToolStarted(
            _tool_call(
                record.get("toolCallId"),
                record.get("toolName"),
                record.get("args"),
                record.get("parentToolCallId"),
            )
        )
    if kind == "tool_execution_end":
        return _tool_finished(record, _mapping(record.get("result")).get("content"))
    if kind == "auto_retry_start":
        return Retrying(
            attempt=_count(record.get("attempt")),
            max_attempts=_count(record.get("maxAttempts")),
            delay_ms=_count(record.get("delayMs")),
            error_message=_text(record.get("errorMessage")),
        )
    if kind == "agent_settled":
        return Settled(aborted=record.get("aborted") is True)
    return Activity(kind)


def _decode_message(message: Mapping[str, object]) -> Event:
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        return UserMessage(_content_text(content))
    if role != "assistant":
        # System prompts are not stored; tool results arrive as tool_execution_end.
        return Activity(f"message of {_text(role) or 'nobody'}")
    blocks = [_mapping(block) for block in content] if isinstance(content, list) else []
    return AssistantMessage(
        text=_content_text(content),
        tool_calls=tuple(
            _tool_call(block.get("id"), block.get("name"), block.get("arguments"))
            for block in blocks
            if block.get("type") == "toolCall"
        ),
        stop_reason=_text(message.get("stopReason")),
        error_message=_text(message.get("errorMessage")),
        provider=_text(message.get("provider")),
        model=_text(message.get("model")),
        usage=parse_usage(message.get("usage")),
        duration_ms=_duration(message.get("durationMs")),
    )


def _tool_finished(record: Mapping[str, object], content: object) -> ToolFinished:
    return ToolFinished(
        call_id=_text(record.get("toolCallId")),
        name=_text(record.get("toolName")),
        text=_content_text(content),
        failed=record.get("isError") is True,
        parent_id=_text(record.get("parentToolCallId")),
        duration_ms=_duration(record.get("durationMs")),
    )


def _tool_call(
    call_id: object, name: object, arguments: object, parent_id: object = None
) -> ToolCall:
    usable = isinstance(arguments, dict) and not _deeper_than(MAX_ARGUMENT_DEPTH, arguments)
    return ToolCall(
        call_id=_text(call_id),
        name=_text(name) or "tool",
        arguments=cast("dict[str, object]", arguments) if usable else None,
        parent_id=_text(parent_id),
    )


def _deeper_than(limit: int, value: object) -> bool:
    """Tell whether containers nest deeper than `limit`, without recursion of our own."""
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
    blocks = (_mapping(block) for block in content)
    return "\n".join(_text(block.get("text")) for block in blocks if block.get("type") == "text")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
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
