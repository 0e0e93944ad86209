"""
Read the parts of a chat-completions request that the offline model looks at.

In: any decoded JSON, however malformed.  Out: plain values; what is not there is empty.
Never raises, changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence


@value
class ToolResult:
    """One tool call of the current turn, and what the tool said (None: nothing yet)."""

    name: str
    text: str | None


def messages_of(body: object) -> list[object]:
    """Return the messages of a request body."""
    messages = body.get("messages") if isinstance(body, dict) else None
    return messages if isinstance(messages, list) else []


def tool_names(body: object) -> frozenset[str]:
    """Return the names of the tools the request offers."""
    tools = body.get("tools") if isinstance(body, dict) else None
    names = set()
    for tool in tools if isinstance(tools, list) else []:
        function = tool.get("function") if isinstance(tool, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str):
            names.add(name)
    return frozenset(names)


def text_of(message: object) -> str:
    """Return a message's text, whether it is a string or a list of parts."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def last_user_text(messages: Sequence[object]) -> str:
    """Return the text of the last message that the user wrote."""
    at = _last_user_index(messages)
    return "" if at is None else text_of(messages[at])


def first_user_text(messages: Sequence[object]) -> str:
    """Return the text of the first message that the user wrote."""
    return next((text_of(each) for each in messages if _role(each) == "user"), "")


def tool_results(messages: Sequence[object]) -> tuple[ToolResult, ...]:
    """Return the tool calls made since the last user message, in the order they were asked."""
    at = _last_user_index(messages)
    tail = messages if at is None else messages[at + 1 :]
    said: dict[str, str] = {}
    for message in tail:
        if _role(message) == "tool" and isinstance(message, dict):
            call_id = message.get("tool_call_id")
            if isinstance(call_id, str):
                said[call_id] = text_of(message)
    return tuple(
        ToolResult(name, said.get(call_id))
        for message in tail
        if _role(message) == "assistant"
        for call_id, name in _calls_of(message)
    )


def characters(body: object) -> int:
    """Count the characters a model would have to read: all strings of messages and tools."""
    tools = body.get("tools") if isinstance(body, dict) else None
    count, waiting = 0, [messages_of(body), tools]
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
    return message.get("role") if isinstance(message, dict) else None


def _last_user_index(messages: Sequence[object]) -> int | None:
    for index in range(len(messages) - 1, -1, -1):
        if _role(messages[index]) == "user":
            return index
    return None


def _calls_of(message: object) -> list[tuple[str, str]]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        call_id = call.get("id") if isinstance(call, dict) else None
        found.append(
            (call_id if isinstance(call_id, str) else "", name if isinstance(name, str) else "")
        )
    return found
