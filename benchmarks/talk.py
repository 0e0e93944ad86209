"""
What a child says while it works: turns of words, calls and results, then its answer.

The lines are those of `pi --mode json`; every record that is kept carries `time @TIME@`, which
talking_child.py fills in.  Calls differ by it too, so that nobody takes them for a loop.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = "I look at the modules one after the other.\n- this one is small\n- 日本語も少し 🎉"
_UPDATE: dict[str, object] = {
    "type": "message_update",
    "usage": {"input": 900, "output": 12},
    "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "the modules"},
}
_CALLS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("bash", {"command": "set -e; make all # time @TIME@\nmake test"}, "all\ntest\nok"),
    ("read", {"path": "src/time @TIME@.py", "limit": 40}, "import os\n" * 40),
    ("edit", {"path": "src/time @TIME@.py", "edits": [{"oldText": "a", "newText": "b\nc"}]}, "ok"),
    ("ls", {"path": "time @TIME@"}, "a.py\nb.py\nc/"),
    ("write", {"path": "src/time @TIME@.py", "content": "x = 1\n" * 20}, "ok"),
)


def talk_of(updates: int) -> Iterator[bytes]:
    """Yield what a child says: a few turns of words, calls and results, then its answer."""
    heard = {"provider": "bench", "model": "talker", "usage": {"input": 900, "output": 40}}
    for turn, (name, arguments, result) in enumerate(_CALLS):
        call_id = f"call_{turn}"
        call = {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}
        words = {"type": "text", "text": f"Step {turn} at time @TIME@:\n{WORDS}"}
        message = {"role": "assistant", "content": [words, call], "stopReason": "toolUse", **heard}
        named = {"toolCallId": call_id, "toolName": name}
        done = {"content": [{"type": "text", "text": f"time @TIME@\n{result}"}]}
        records: tuple[dict[str, object], ...] = (
            {"type": "message_end", "message": message},
            {"type": "tool_execution_end", **named, "result": done, "isError": False},
        )
        for record in records:
            yield _as_line(_UPDATE) * updates
            yield _as_line(record)
    answer = {"role": "assistant", "content": [{"type": "text", "text": "I said it all."}]}
    yield _as_line({"type": "message_end", "message": {**answer, "stopReason": "stop", **heard}})


def _as_line(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
