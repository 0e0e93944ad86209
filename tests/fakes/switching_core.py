"""
A core that speaks when sessions are switched: at the last moment, and when it is too late.

Every request is answered; `complete` with the methods that came so far.
"""

from __future__ import annotations

import json
import sys


def say(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def notify(session: str, text: str) -> None:
    params = {"sessionId": session, "message": text, "level": "info"}
    say(method="notify", params=params)


came: list[str] = []
session = ""
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    came.append(method)
    if method == "close":
        notify(session, "at the last moment")
    if method == "hello":
        if session:
            notify(session, "too late")
        session = message["params"]["sessionId"]
        notify(session, "welcome")
    if "id" in message:
        items = [{"value": each, "label": each} for each in came]
        say(id=message["id"], result={"items": items, "content": [], "details": {}})
