"""
The same work by the same pi in RPC mode, with nothing around it: what nobody can be quicker than.

Children start at once, each does task after task in a session of its own that is kept nowhere,
and nobody watches, records, limits or cleans up.  Prompts come on standard input, each ended by a
NUL: `python bare_rpc.py <calls> <children> <pi> <options> < prompts`.  Of two calls each is half of
the prompts.  Standard output tells what the last one took, its children's start left out if they
did one before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def main() -> int:
    count, children, *pi = sys.argv[1:]
    prompts = sys.stdin.read().split("\0")[:-1]
    each = len(prompts) // int(count)
    calls = [iter(prompts[first : first + each]) for first in range(0, len(prompts), each)]
    at_once = min(int(children), each)
    done: list[str] = []
    together = threading.Barrier(at_once + 1)
    work = [
        threading.Thread(target=serve, args=(pi, calls, done, together)) for _ in range(at_once)
    ]
    for thread in work:
        thread.start()
    begun = 0.0
    for _ in calls:
        together.wait()
        begun = time.perf_counter()
        together.wait()
    print(json.dumps({"wallMs": (time.perf_counter() - begun) * 1000}))
    for thread in work:
        thread.join()
    return 0 if sorted(done) == sorted(prompts) else 1


def serve(
    pi: list[str], calls: Sequence[Iterator[str]], done: list[str], together: threading.Barrier
) -> None:
    """Start one child, and give it the next prompt for as long as there is one."""
    with subprocess.Popen(
        pi, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        opening = "get_state"  # a child begins in a new session
        for queue in calls:
            together.wait()
            for prompt in queue:  # shared: each takes the next one
                ask(child.stdin, {"type": opening, "id": "open"})
                read_until(child.stdout, b'"id":"open"')
                ask(child.stdin, {"type": "prompt", "message": prompt})
                read_until(child.stdout, b'"type":"agent_settled"')
                opening = "new_session"
                done.append(prompt)
            together.wait()


def ask(channel: IO[bytes], command: dict[str, str]) -> None:
    channel.write(json.dumps(command).encode() + b"\n")
    channel.flush()


def read_until(channel: IO[bytes], mark: bytes) -> None:
    while mark not in (line := channel.readline()):
        if not line:
            raise RuntimeError("a child ended before its task")


if __name__ == "__main__":
    sys.exit(main())
