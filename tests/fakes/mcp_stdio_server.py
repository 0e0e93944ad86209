"""
A small MCP server on standard input and output, for pi to start.

    python mcp_stdio_server.py NOTES     each start is a line in NOTES; the one tool, put, answers "ok"
"""

from __future__ import annotations

import json
import os
import sys

TOOL = {
    "name": "put",
    "description": "Put something somewhere.",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
}


def answer(method: str, params: dict[str, object]) -> object:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "small", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "ok"}]}
        case _:
            return {}


def main() -> None:
    with open(sys.argv[1], "a", encoding="ascii") as notes:
        print(os.getpid(), file=notes)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


main()
