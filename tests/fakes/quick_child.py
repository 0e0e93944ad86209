"""
A pi that answers every prompt at once, by itself, and nothing else.

Started as `python -I -S quick_child.py`, followed by pi's options, which it ignores but for the
mode.  In: commands as JSON lines, whose end is its own; with `--mode json` the prompt.  Out: the
records of a run whose answer names its prompt.  For measurements and for many runs; a child that is
to misbehave is fake_child.py.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
DATA: dict[str, Json] = {
    "get_state": {"isStreaming": False, "sessionId": "quick"},
    "switch_session": {"cancelled": False},
    "get_session_stats": {
        "tokens": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "total": 2},
        "cost": 0,
    },
}


def main() -> None:
    """Obey until there is nobody left to obey, or answer the one prompt there is."""
    if ("--mode", "json") in pairwise(sys.argv):
        _say(*run_of(sys.stdin.read()))
        return
    for line in sys.stdin.buffer:
        request = json.loads(line)
        name = request["type"]
        answer = {"id": request["id"], "type": "response", "command": name, "success": True}
        if name in DATA:
            answer["data"] = DATA[name]
        heard = run_of(request["message"]) if name == "prompt" else []
        _say(answer, *heard)


def run_of(prompt: str) -> list[Json]:
    """Return what a run says of itself, from its beginning to its end."""
    asked = {"role": "user", "content": [{"type": "text", "text": prompt}]}
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": answer_to(prompt)}],
        "provider": "quick",
        "model": "quick-1",
        "usage": USAGE,
        "stopReason": "stop",
    }
    return [
        {"type": "agent_start"},
        {"type": "message_start", "message": asked},
        {"type": "message_end", "message": asked},
        {"type": "message_end", "message": answer},
        {"type": "agent_end", "messages": [], "willRetry": False},
        {"type": "agent_settled"},
    ]


def answer_to(prompt: str) -> str:
    """Return what the child answers."""
    return f"You said: {prompt}"


def _say(*records: Json) -> None:
    lines = (json.dumps(record, separators=(",", ":")) for record in records)
    data = "".join(f"{line}\n" for line in lines).encode("ascii")
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
