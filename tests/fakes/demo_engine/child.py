"""The agent: takes `ask`, `hear` and `halt` with a JSON text; the task decides what it does."""

from __future__ import annotations

import json
import sys


def say(word: str, content: object = "") -> None:
    print(word, json.dumps(content), flush=True)


asked = json.loads(sys.stdin.readline().partition(" ")[2])
say("working")
answer, end = f"You said: {asked}", "done"
if asked != "fail":
    for _count in range(9 if asked in ("loop", "repeat") else 1):
        say("call", {"name": "look", "arguments": {"at": asked}})
if asked in ("wait", "loop"):
    order, _, text = sys.stdin.readline().partition(" ")
    if order == "halt":
        end = "halted"
    else:
        say("heard", answer := json.loads(text))
if asked == "fail":
    say("failed", "the model is gone")
elif end == "done":
    say("answer", answer)
say("used", 7)
say(end)
