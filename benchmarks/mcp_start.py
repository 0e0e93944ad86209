"""How long a host waits for the MCP server: from its start to the answer to `initialize`."""

from __future__ import annotations

import json
import resource
import subprocess
import time

from measuring import Cost, Figure, Place, Target, progress
from start_up import COMMAND

SECTION = "MCP server"
TARGETS = {"initialize, wall": Target(1500)}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def measure(place: Place) -> list[Figure]:
    """Return wall and processor time until a host has its first answer; the first only warms up."""
    rounds = place.rounds(9)
    costs = []
    for number in range(-1, rounds):
        progress(f"{SECTION}: {f'round {number + 1} of {rounds}' if number >= 0 else 'warming up'}")
        cost = _initialize(place)
        if number >= 0:
            costs.append(cost)
    values = {
        "initialize, wall": tuple(cost.wall_ms for cost in costs),
        "initialize, CPU with the server's end": tuple(cost.cpu_ms for cost in costs),
    }
    return [Figure(SECTION, name, "ms", each, TARGETS.get(name)) for name, each in values.items()]


def _initialize(place: Place) -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        cwd=place.project,
        env=dict(place.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        wall_ms = (time.perf_counter() - begun) * 1000
        assert answer["result"]["serverInfo"]["name"] == "subagents"
        server.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Cost(wall_ms, spent * 1000)
