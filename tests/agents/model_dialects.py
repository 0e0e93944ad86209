"""
How agents ask models, and how models answer: four dialects, one turn.

In: a decoded request, or a Turn of an offline script.  Out: what was asked, flattened to messages
that the offline model's readers understand, or the events of a streamed answer.  Pure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pi_subagents.core.offline.script import HttpError, ScriptedUsage
from pi_subagents.engines.offline.wire import Completion, error_body, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.offline.script import ScriptedCall, Turn

Event = tuple[str, dict[str, Any]]  # the name of a server-sent event (may be empty), and its data
Message = dict[str, Any]

NO_USAGE = ScriptedUsage(100, 10)


class Dialect(Protocol):
    """One company's way to ask a model."""

    @property
    def name(self) -> str: ...

    @property
    def route(self) -> re.Pattern[str]: ...

    @property
    def ends_with_done(self) -> bool: ...

    def messages(self, body: dict[str, Any]) -> list[Message]: ...

    def tools(self, body: dict[str, Any]) -> list[str]: ...

    def events(self, turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]: ...

    def error(self, error: HttpError) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Chat:
    """OpenAI's chat completions: opencode, Qwen Code, pi."""

    name: str = "chat"
    route: re.Pattern[str] = re.compile(r"/v1/chat/completions")
    ends_with_done: bool = True

    def messages(self, body: dict[str, Any]) -> list[Message]:
        return [{**each, "content": _text(each.get("content"))} for each in body["messages"]]

    def tools(self, body: dict[str, Any]) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or []]

    def events(self, turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
        for chunk in Completion.of(turn, body, number).chunks():
            yield "", chunk

    def error(self, error: HttpError) -> dict[str, Any]:
        return error_body(error)


@dataclass(frozen=True)
class Responses:
    """OpenAI's responses: Codex."""

    name: str = "responses"
    route: re.Pattern[str] = re.compile(r"/v1/responses")
    ends_with_done: bool = False

    def messages(self, body: dict[str, Any]) -> list[Message]:
        found: list[Message] = [{"role": "system", "content": body.get("instructions") or ""}]
        for item in body["input"]:
            if item["type"] == "message":
                found.append({"role": item["role"], "content": _text(item["content"])})
            elif item["type"].endswith("_output"):
                found.append({"role": "tool", "content": _text(item.get("output"))})
        return found

    def tools(self, body: dict[str, Any]) -> list[str]:
        names = []
        for tool in body.get("tools") or []:
            inner = tool.get("tools") or [{}]
            names += [
                ".".join(filter(None, (tool.get("name"), each.get("name")))) for each in inner
            ]
        return names

    def events(self, turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
        identity = f"resp_{number}"
        freeform = {
            tool.get("name") for tool in body.get("tools") or [] if tool["type"] == "custom"
        }
        yield self._event("response.created", response={"id": identity})
        if turn.text or not turn.tool_calls:
            item = {"type": "message", "role": "assistant", "id": f"msg_{number}"}
            yield self._event("response.output_item.added", item={**item, "content": []})
            for piece in pieces(turn.text):
                yield self._event("response.output_text.delta", delta=piece, item_id=item["id"])
            content = [{"type": "output_text", "text": turn.text}]
            yield self._event("response.output_item.done", item={**item, "content": content})
        for index, call in enumerate(turn.tool_calls):
            item = {"call_id": f"call_{len(body['input'])}_{number}_{index}"}
            if call.name in freeform:  # its argument is no JSON
                item |= {"type": "custom_tool_call", "name": call.name, "input": call.arguments}
            else:
                space, _, name = call.name.rpartition(".")
                item |= {"type": "function_call", "name": name, "arguments": call.arguments}
                item |= {"namespace": space} if space else {}
            yield self._event("response.output_item.done", item=item)
        used = turn.usage or NO_USAGE
        usage = {
            "input_tokens": used.input + used.cache_read,
            "input_tokens_details": {"cached_tokens": used.cache_read},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used.input + used.cache_read + used.output,
        }
        yield self._event("response.completed", response={"id": identity, "usage": usage})

    @staticmethod
    def _event(kind: str, **data: Any) -> Event:
        return kind, {"type": kind, **data}

    def error(self, error: HttpError) -> dict[str, Any]:
        return error_body(error)


@dataclass(frozen=True)
class Anthropic:
    """Anthropic's messages: Claude Code."""

    name: str = "anthropic"
    route: re.Pattern[str] = re.compile(r"/v1/messages")
    ends_with_done: bool = False

    def messages(self, body: dict[str, Any]) -> list[Message]:
        found: list[Message] = [{"role": "system", "content": _text(body.get("system"))}]
        for message in body["messages"]:
            parts = message["content"]
            listed = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            found += [
                {"role": "tool", "content": _text(part.get("content"))}
                for part in listed
                if part["type"] == "tool_result"
            ]
            text = _text([part for part in listed if part["type"] == "text"])
            if text:
                found.append({"role": message["role"], "content": text})
        return found

    def tools(self, body: dict[str, Any]) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or []]

    def events(self, turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
        used = turn.usage or NO_USAGE
        usage = {"input_tokens": used.input, "cache_read_input_tokens": used.cache_read}
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "content": [],
            "model": body["model"], "stop_reason": None, "usage": {**usage, "output_tokens": 1},
        }  # fmt: skip
        yield self._event("message_start", message=message)
        index = 0
        if turn.text or not turn.tool_calls:
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(turn.text)]
            yield from self._block(index, {"type": "text", "text": ""}, deltas)
            index += 1
        for call in turn.tool_calls:
            identity = f"toolu_{len(body['messages'])}_{number}_{index}"
            block = {"type": "tool_use", "id": identity, "name": call.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": call.arguments}
            yield from self._block(index, block, [delta])
            index += 1
        reason = {"stop_reason": "tool_use" if turn.tool_calls else "end_turn"}
        yield self._event("message_delta", delta=reason, usage={"output_tokens": used.output})
        yield self._event("message_stop")

    def _block(self, index: int, block: Message, deltas: list[Message]) -> Iterator[Event]:
        yield self._event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield self._event("content_block_delta", index=index, delta=delta)
        yield self._event("content_block_stop", index=index)

    @staticmethod
    def _event(kind: str, **data: Any) -> Event:
        return kind, {"type": kind, **data}

    def error(self, error: HttpError) -> dict[str, Any]:
        kind = error_body(error)["error"]["type"]
        return {"type": "error", "error": {"type": kind, "message": error.message}}


@dataclass(frozen=True)
class Gemini:
    """Google's generateContent: Gemini CLI."""

    name: str = "gemini"
    route: re.Pattern[str] = re.compile(r"/v1beta/models/[^/:]+:(stream)?[gG]enerateContent")
    ends_with_done: bool = False

    def messages(self, body: dict[str, Any]) -> list[Message]:
        system = (body.get("systemInstruction") or {}).get("parts")
        found: list[Message] = [{"role": "system", "content": _text(system)}]
        for content in body["contents"]:
            for part in content["parts"]:
                if "functionResponse" in part:
                    answer = json.dumps(part["functionResponse"]["response"])
                    found.append({"role": "tool", "content": answer})
            text = _text(content["parts"])
            if text:
                found.append({"role": content.get("role", "user"), "content": text})
        return found

    def tools(self, body: dict[str, Any]) -> list[str]:
        declared = [each.get("functionDeclarations") or [] for each in body.get("tools") or []]
        return [each["name"] for group in declared for each in group]

    def events(self, turn: Turn, body: dict[str, Any], number: int) -> Iterator[Event]:
        del body, number
        parts: list[Message] = [{"text": piece} for piece in pieces(turn.text)]
        parts += [{"functionCall": self._call(call)} for call in turn.tool_calls]
        for part in parts:
            yield "", {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
        used = turn.usage or NO_USAGE
        usage = {
            "promptTokenCount": used.input + used.cache_read,
            "candidatesTokenCount": used.output,
            "totalTokenCount": used.input + used.cache_read + used.output,
        }
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
        yield "", {"candidates": [end], "usageMetadata": usage}

    @staticmethod
    def _call(call: ScriptedCall) -> Message:
        return {"name": call.name, "args": json.loads(call.arguments)}

    def error(self, error: HttpError) -> dict[str, Any]:
        return {"error": {"code": error.status, "message": error.message, "status": "UNKNOWN"}}


DIALECTS: tuple[Dialect, ...] = (Chat(), Responses(), Anthropic(), Gemini())


def _text(content: object) -> str:
    """Return the text of what may be a string, or parts with texts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
