"""
A real pi as main agent that delegates: when its call was written, and when its answer was there.

In: the command and what answers it.  Out: per call of the tool the time from the end of its writing
to its result, by the records that pi prints in JSON mode.
"""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from work_calls import MAIN

from pi_subagents.engines.pi.command import resolve_pi_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from measuring import Place

JSON_MODE = ("--mode", "json", "-p", "--no-session", "--no-approve")
WRITTEN = b'"assistantMessageEvent":{"type":"toolcall_end"'
ENDED = b'{"type":"tool_execution_end"'
COMPLETED = b": completed (session: "  # both extensions say it of each task
KEPT = 2000


def main_agent(place: Place, extension: str, prompt: str) -> tuple[str, ...]:
    """Return the command of a main agent that has an extension."""
    pi = resolve_pi_command(place.env, place.project, None).argv
    return (*pi, "--provider", MAIN, "--model", MAIN, "-e", extension, *JSON_MODE, prompt)


def walls_ms(argv: Sequence[str], place: Place, calls: int, tasks: int) -> list[float]:
    """Run a main agent to its end; return how long each of its calls of so many tasks took."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        cwd=place.project,
        env=dict(place.env),
    )
    assert process.stdout is not None
    written, walls = 0.0, []
    for line in process.stdout:
        now = time.perf_counter()
        if WRITTEN in line[:KEPT] and line.startswith(b'{"type":"message_update"'):
            written = now
        elif line.startswith(ENDED):
            if line.count(COMPLETED) != tasks:
                raise RuntimeError(f"a call was not done: {line[:KEPT]!r}")
            walls.append((now - written) * 1000)
    process.stdout.close()
    if process.wait() != 0 or len(walls) != calls:
        raise RuntimeError(f"pi ended with {process.returncode} after {len(walls)} calls")
    return walls
