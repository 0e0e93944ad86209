"""
Write one Turn the way OpenAI's chat-completions API would: stream chunks, whole body, error.

In: a Turn, the request it answers and its number in the conversation.  Out: JSON objects.
Pure and deterministic: the same request and turn give the same objects, ids and usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.offline.script import ScriptedUsage
from pi_subagents.core.value import value
from pi_subagents.engines.offline.chat import characters, field_of, last_user_text, messages_of
from pi_subagents.engines.offline.provider import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.offline.script import HttpError, Turn

ChatRecord = dict[str, Any]

CHARACTERS_PER_TOKEN = 4
_SMALLEST_PIECE = 24
_MOST_PIECES = 64
_CREATED = 0  # a fixed date: two runs of one script are byte-equal
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}


@value
class Completion:
    """A turn made concrete for one request."""

    turn: Turn
    request: object
    number: int
    text: str

    @classmethod
    def of(cls, turn: Turn, request: object, number: int) -> Completion:
        """Make the answer to the conversation's request of that number (from 1)."""
        spoken = last_user_text(messages_of(request)) if turn.echo else turn.text
        return cls(turn, request, number, spoken + fill_text(turn.fill_kb))

    @property
    def finish_reason(self) -> str:
        """Why the model stopped."""
        return self.turn.stop or ("tool_calls" if self.turn.tool_calls else "stop")

    def tool_calls(self) -> list[ChatRecord]:
        """Return the calls, with ids unique in the conversation as the child knows it."""
        # A resumed conversation may meet a fresh server that counts from 1 again: the number of
        # messages keeps new ids apart from the old ones in the history.
        prefix = f"call_{len(messages_of(self.request))}_{self.number}"
        return [
            {
                "id": f"{prefix}_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for index, call in enumerate(self.turn.tool_calls)
        ]

    def usage(self) -> ChatRecord:
        """Return the scripted tokens, or a quarter of the characters."""
        turn = self.turn
        written = len(turn.thinking) + sum(
            len(call.name) + len(call.arguments) for call in turn.tool_calls
        )
        usage = turn.usage or ScriptedUsage(
            tokens(characters(self.request)), tokens(written + len(self.text))
        )
        # OpenAI counts the cached ones in; pi takes them out
        prompt = usage.input + usage.cache_read
        return {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output,
            "total_tokens": prompt + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens_details": {
                "reasoning_tokens": min(usage.output, tokens(len(turn.thinking)))
            },
        }

    def chunks(self) -> Iterator[ChatRecord]:
        """Yield the stream's objects in order, without the closing [DONE]."""
        yield self._chunk({"role": "assistant", "content": ""})
        for piece in pieces(self.turn.thinking):
            yield self._chunk({"reasoning_content": piece})
        for piece in pieces(self.text):
            yield self._chunk({"content": piece})
        for index, call in enumerate(self.tool_calls()):
            function = call["function"]
            opened = {
                **call,
                "index": index,
                "function": {"name": function["name"], "arguments": ""},
            }
            yield self._chunk({"tool_calls": [opened]})
            for piece in pieces(function["arguments"]):
                more = {"index": index, "function": {"arguments": piece}}
                yield self._chunk({"tool_calls": [more]})
        yield self._chunk({}, self.finish_reason)
        if field_of(self.request, "stream_options", "include_usage") is True:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage()}

    def whole(self) -> ChatRecord:
        """Return the answer to a request that did not ask for a stream."""
        message: ChatRecord = {"role": "assistant", "content": self.text or None}
        if self.turn.thinking:
            message["reasoning_content"] = self.turn.thinking
        if self.turn.tool_calls:
            message["tool_calls"] = self.tool_calls()
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def _head(self, kind: str) -> ChatRecord:
        return {"id": f"offline-{self.number}", "object": kind, "created": _CREATED, "model": MODEL}

    def _chunk(self, delta: ChatRecord, finish_reason: str | None = None) -> ChatRecord:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}


def error_body(error: HttpError) -> ChatRecord:
    """Return OpenAI's error object."""
    kind = _ERROR_TYPES.get(error.status)
    if kind is None:
        kind = "server_error" if error.status >= 500 else "invalid_request_error"  # noqa: PLR2004 - HTTP
    return {"error": {"message": error.message, "type": kind, "param": None, "code": None}}


def models_body() -> ChatRecord:
    """Return the list of the one model."""
    model = {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": "pi-subagents"}
    return {"object": "list", "data": [model]}


def tokens(length: int) -> int:
    """Estimate tokens from characters, rounding up."""
    return -(-length // CHARACTERS_PER_TOKEN)


def pieces(text: str) -> Iterator[str]:
    """Cut a text into stream deltas: small ones for small texts, never more than 64."""
    size = max(_SMALLEST_PIECE, -(-len(text) // _MOST_PIECES))
    for start in range(0, len(text), size):
        yield text[start : start + size]


def fill_text(kilobytes: int) -> str:
    """Return exactly so many KB of text; every 64-byte line holds its own number."""
    return "".join(
        f"{line:07d} {'offline filler ' * 4}"[:63] + "\n" for line in range(kilobytes * 16)
    )
