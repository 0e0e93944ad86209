"""
Read the parts of a chat-completions request that the offline model looks at.

In: any decoded JSON, however malformed.  Out: plain values; what is not there is empty.
Never raises, changes nothing.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence


@value
class ToolResult:
    """One tool call of the current turn, and the tool's output (None: nothing yet)."""

    name: str
    text: str | None


def field_of(record: object, *keys: str) -> object:
    """Return what stands under nested keys; None where there is no such."""
    for key in keys:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def messages_of(body: object) -> list[Any]:
    """Return the messages of a request body."""
    return _listed(field_of(body, "messages"))


def tool_names(body: object) -> frozenset[str]:
    """Return the names of the tools the request offers."""
    names = (field_of(tool, "function", "name") for tool in _listed(field_of(body, "tools")))
    return frozenset(name for name in names if isinstance(name, str))


def text_of(message: object) -> str:
    """Return a message's text, whether it is a string or a list of parts."""
    content = field_of(message, "content")
    return _text(content) or "".join(_text(field_of(part, "text")) for part in _listed(content))


def last_user_text(messages: Sequence[object]) -> str:
    """Return the text of the last message that the user wrote."""
    return first_user_text(messages[::-1])


def first_user_text(messages: Sequence[object]) -> str:
    """Return the text of the first message that the user wrote."""
    return next((text_of(each) for each in messages if _role(each) == "user"), "")


def tool_results(messages: Sequence[object]) -> tuple[ToolResult, ...]:
    """Return the tool calls made since the last user message, in the order they were made."""
    tail = list(takewhile(lambda each: _role(each) != "user", reversed(messages)))[::-1]
    results = {
        call_id: text_of(each)
        for each in tail
        if _role(each) == "tool" and isinstance(call_id := field_of(each, "tool_call_id"), str)
    }
    return tuple(
        ToolResult(
            _text(field_of(call, "function", "name")), results.get(_text(field_of(call, "id")))
        )
        for each in tail
        if _role(each) == "assistant"
        for call in _listed(field_of(each, "tool_calls"))
    )


def characters(body: object) -> int:
    """Count the characters a model would have to read: all strings of messages and tools."""
    count, waiting = 0, [messages_of(body), field_of(body, "tools")]
    while waiting:  # no recursion: a request may be nested as deeply as the decoder allows
        value = waiting.pop()
        if isinstance(value, str):
            count += len(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return count


def _role(message: object) -> object:
    return field_of(message, "role")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
