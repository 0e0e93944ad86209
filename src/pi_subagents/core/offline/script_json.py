"""
Write the script of the offline model as JSON, for another machine.

In: a Script.  Out: text that `parse_script_text` makes the same Script of.  A script that has no
turns, but the rules at a pace, has no text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.offline.script import HttpError, Script, Turn

_TURN_KEYS = {
    "text": "text",
    "thinking": "thinking",
    "echo": "echo",
    "fill_kb": "fillKB",
    "stop": "stop",
    "delay_ms": "delayMs",
    "chunk_delay_ms": "chunkDelayMs",
    "cut": "cut",
    "repeat": "repeat",
}


def script_to_text(script: Script) -> str:
    """Return the script as JSON; nothing where it is made of rules alone."""
    if not script.parts and script.default is None:
        return ""
    parts = [{"match": part.match, "turns": _turns(part.turns)} for part in script.parts]
    content: dict[str, object] = {"conversations": parts}
    if script.default is not None:
        content["default"] = _turns(script.default)
    return json.dumps(content)


def _turns(turns: Sequence[Turn]) -> list[dict[str, object]]:
    return [_turn(turn) for turn in turns]


def _turn(turn: Turn) -> dict[str, object]:
    found = {key: each for name, key in _TURN_KEYS.items() if (each := getattr(turn, name))}
    if turn.tool_calls:
        found["toolCalls"] = [
            {"name": call.name, "arguments": call.arguments} for call in turn.tool_calls
        ]
    if (usage := turn.usage) is not None:
        counts = {"input": usage.input, "output": usage.output, "cacheRead": usage.cache_read}
        found["usage"] = counts
    if turn.error is not None:
        found["error"] = _error(turn.error)
    return found


def _error(error: HttpError) -> dict[str, object]:
    after = {} if error.retry_after_s is None else {"retryAfterS": error.retry_after_s}
    return {"status": error.status, "message": error.message, **after}
