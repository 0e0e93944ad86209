"""The agent: takes `ask`, `hear` and `halt` with a JSON text; the task decides what it does."""

from __future__ import annotations

import json
import sys


def say(word: str, content: object = "") -> None:
    print(word, json.dumps(content), flush=True)


asked = json.loads(sys.stdin.readline().partition(" ")[2])
say("working")
if asked == "fail":
    say("failed", "the model is gone")
elif asked == "wait":
    order, _, text = sys.stdin.readline().partition(" ")
    if order == "halt":
        say("halted")
    else:
        say("heard", json.loads(text))
        say("answer", json.loads(text))
else:
    for _ in range(9 if asked == "loop" else 1):
        say("call", {"name": "look", "arguments": {"at": asked}})
    say("answer", f"You said: {asked}")
say("used", 7)
say("done")
