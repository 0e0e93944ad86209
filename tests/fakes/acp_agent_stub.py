"""
An ACP agent that says who it is, and no more; what it is told to do otherwise is its argument.

    python acp_agent_stub.py [ends | other-version | refuses | chatters | paints | nests]
"""

from __future__ import annotations

import json
import sys


def main(manner: str) -> None:
    if manner == "ends":
        print("no licence", file=sys.stderr)
        sys.exit(3)
    for line in sys.stdin:
        request = json.loads(line)
        assert request["method"] == "initialize", request
        if manner == "chatters":
            print("Welcome!", flush=True)
        answer: dict[str, object] = {
            "protocolVersion": 2 if manner == "other-version" else 1,
            "agentInfo": {"name": "stub", "title": "A stub", "version": "7.1"},
        }
        if manner == "paints":
            answer["agentInfo"] = {"version": "7.1\x1b[31m\n" + "1" * 10_000, "title": {}}
        if manner == "nests":
            answer["protocolVersion"] = json.loads("[" * 900 + "]" * 900)
        outcome: dict[str, object] = {"result": answer}
        if manner == "refuses":
            outcome = {"error": {"code": -32603, "message": "not today"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)


main("".join(sys.argv[1:]))
