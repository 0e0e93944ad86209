"""
Values and parser of a script: what the offline model answers, request by request.

In: decoded JSON (or its text).  Out: a Script, or OfflineScriptError that names the place.
Pure; a script with one mistake is refused whole.  Two shapes (see docs/offline-model.md):

    [turn, turn, ...]                       every conversation plays these, each from the start
    {"conversations": [{"match": "...", "turns": [...]}], "default": [...]}

`match` looks at the last user message of a conversation's first request: a substring, or a
regular expression when written between slashes ("/count .* files/").  First match wins.

A turn is an object with any of: text, thinking, echo, fillKB, toolCalls, usage, stop, delayMs,
chunkDelayMs, cut, repeat; or error with at most delayMs and repeat beside it.
"""

from __future__ import annotations

import json
import re
from typing import Literal, cast, get_args

from pi_subagents.core.offline.json_shape import Shape, index_path
from pi_subagents.core.value import value
from pi_subagents.errors import OfflineScriptError

StopReason = Literal["stop", "length", "tool_calls"]

MAX_DELAY_MS = 24 * 3600 * 1000
MAX_FILL_KB = 64 * 1024
MAX_TOKENS = 10**12

_TURN_KEYS = (
    "text", "thinking", "echo", "fillKB", "toolCalls", "usage", "stop", "delayMs",
    "chunkDelayMs", "cut", "repeat", "error",
)  # fmt: skip
_BESIDE_ERROR = frozenset({"error", "delayMs", "repeat"})


@value
class ScriptedCall:
    """One call the model asks for; arguments are JSON text, sent exactly as they stand."""

    name: str
    arguments: str


@value
class ScriptedUsage:
    """Tokens as pi counts them: `input` does not include what came from the cache."""

    input: int
    output: int
    cache_read: int = 0


@value
class HttpError:
    """A refusal instead of an answer."""

    status: int
    message: str
    retry_after_s: int | None = None


@value
class Turn:
    """The answer to one request."""

    text: str = ""
    thinking: str = ""
    echo: bool = False
    fill_kb: int = 0
    tool_calls: tuple[ScriptedCall, ...] = ()
    usage: ScriptedUsage | None = None
    stop: StopReason | None = None
    delay_ms: int = 0
    chunk_delay_ms: int = 0
    cut: bool = False
    repeat: bool = False
    error: HttpError | None = None


@value
class ScriptPart:
    """The turns for conversations whose first prompt matches."""

    match: str
    turns: tuple[Turn, ...]

    def fits(self, prompt: str) -> bool:
        """Return whether a conversation that begins with this prompt plays these turns."""
        pattern = _regex_of(self.match)
        return self.match in prompt if pattern is None else re.search(pattern, prompt) is not None


@value
class Script:
    """Everything the model will say."""

    parts: tuple[ScriptPart, ...] = ()
    default: tuple[Turn, ...] | None = None
    # Instead of turns: the rules, a call at a time with so long before it, for people who watch.
    rules_pace_ms: int | None = None

    def turns_for(self, prompt: str) -> tuple[Turn, ...] | None:
        """Return the turns of a conversation by its first prompt; None: the script has none."""
        for part in self.parts:
            if part.fits(prompt):
                return part.turns
        return self.default


def parse_script_text(text: str) -> Script:
    """Parse the JSON text of a script; raises OfflineScriptError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OfflineScriptError("file", f"not JSON ({error})") from None
    return parse_script(value)


def parse_script(value: object) -> Script:
    """Parse decoded JSON; raises OfflineScriptError and nothing else."""
    if isinstance(value, list):
        return Script(default=_parse_turns(value, "turns"))
    shape = Shape.of(value, "script", ("conversations", "default"))
    if "conversations" not in shape and "default" not in shape:
        raise OfflineScriptError("script", 'needs "conversations" or "default"')
    parts = tuple(
        _parse_part(part, index_path("conversations", index))
        for index, part in enumerate(shape.list("conversations"))
    )
    default = _parse_turns(shape.value("default"), "default") if "default" in shape else None
    return Script(parts, default)


def _parse_part(value: object, where: str) -> ScriptPart:
    shape = Shape.of(value, where, ("match", "turns"))
    match = shape.required_text("match")
    pattern = _regex_of(match)
    if pattern is not None:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            problem = f"not a regular expression ({error})"
            raise OfflineScriptError(shape.path("match"), problem) from None
    return ScriptPart(match, _parse_turns(shape.value("turns"), shape.path("turns")))


def _parse_turns(value: object, where: str) -> tuple[Turn, ...]:
    if not isinstance(value, list) or not value:
        raise OfflineScriptError(where, "must be a list with at least one turn")
    return tuple(_parse_turn(turn, index_path(where, index)) for index, turn in enumerate(value))


def _parse_turn(value: object, where: str) -> Turn:
    shape = Shape.of(value, where, _TURN_KEYS)
    if "error" in shape:
        useless = sorted(set(shape.keys()) - _BESIDE_ERROR)
        if useless:
            raise OfflineScriptError(shape.path(useless[0]), 'has no effect beside "error"')
    if "echo" in shape and "text" in shape:
        raise OfflineScriptError(shape.path("text"), '"echo" is the text already')
    return Turn(
        text=shape.text("text"),
        thinking=shape.text("thinking"),
        echo=shape.flag("echo"),
        fill_kb=shape.whole("fillKB", 0, MAX_FILL_KB),
        tool_calls=tuple(
            _parse_tool_call(call, index_path(shape.path("toolCalls"), index))
            for index, call in enumerate(shape.list("toolCalls"))
        ),
        usage=_parse_usage(shape.value("usage"), shape.path("usage")) if "usage" in shape else None,
        stop=_parse_stop(shape),
        delay_ms=shape.whole("delayMs", 0, MAX_DELAY_MS),
        chunk_delay_ms=shape.whole("chunkDelayMs", 0, MAX_DELAY_MS),
        cut=shape.flag("cut"),
        repeat=shape.flag("repeat"),
        error=_parse_error(shape.value("error"), shape.path("error")) if "error" in shape else None,
    )


def _parse_tool_call(value: object, where: str) -> ScriptedCall:
    shape = Shape.of(value, where, ("name", "arguments"))
    name = shape.required_text("name")
    arguments = shape.value("arguments") if "arguments" in shape else {}
    if isinstance(arguments, str):  # sent as it stands: broken JSON is a fault worth testing
        return ScriptedCall(name, arguments)
    if not isinstance(arguments, dict):
        raise OfflineScriptError(shape.path("arguments"), "must be an object or a string")
    try:
        return ScriptedCall(name, json.dumps(arguments, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"cannot be written as JSON ({error})"
        raise OfflineScriptError(shape.path("arguments"), problem) from None


def _parse_usage(value: object, where: str) -> ScriptedUsage:
    shape = Shape.of(value, where, ("input", "output", "cacheRead"))
    for key in ("input", "output"):
        shape.require(key)
    return ScriptedUsage(
        shape.whole("input", 0, MAX_TOKENS),
        shape.whole("output", 0, MAX_TOKENS),
        shape.whole("cacheRead", 0, MAX_TOKENS),
    )


def _parse_stop(shape: Shape) -> StopReason | None:
    if "stop" not in shape:
        return None
    stop = shape.value("stop")
    if stop not in get_args(StopReason):
        choices = ", ".join(get_args(StopReason))
        raise OfflineScriptError(shape.path("stop"), f"must be one of {choices}")
    return cast("StopReason", stop)


def _parse_error(value: object, where: str) -> HttpError:
    shape = Shape.of(value, where, ("status", "message", "retryAfterS"))
    shape.require("status")
    retry = shape.whole("retryAfterS", 0, MAX_DELAY_MS // 1000) if "retryAfterS" in shape else None
    return HttpError(shape.whole("status", 400, 599), shape.required_text("message"), retry)


def _regex_of(match: str) -> str | None:
    return match[1:-1] if len(match) > 2 and match[0] == match[-1] == "/" else None  # noqa: PLR2004 - two slashes
