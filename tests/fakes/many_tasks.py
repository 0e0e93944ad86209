"""
A host that delegates thousands of short tasks through the Python API and looks at itself.

Started as `python many_tasks.py <tasks> <pool|alone>`, in a project of its own, with quick children
(quick_child.py).  Out: a JSON list of Looks: before everything, after each call, and when all is
over.  With a pool the host keeps its children from call to call, alone every call has its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import Task, delegate
from pi_subagents.service.call import Pool
from pi_subagents.system.process_tree import descendants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.service.call import Options

PER_CALL = 10
AT_ONCE = 4
POOL, ALONE = "pool", "alone"
QUICK_CHILD = Path(__file__).with_name("quick_child.py")
NODE = Path(__file__).with_name("node")
QUICK_PI_COMMAND = shlex.join((str(NODE), sys.executable, "-I", "-S", str(QUICK_CHILD)))
ANSWER = "You said: {}"


@dataclass(frozen=True)
class Look:
    """What a process has: memory in bytes, what its descriptors lead to, processes below it."""

    tasks: int
    wall_s: float
    cpu_s: float
    memory: int
    descriptors: list[str]
    processes: int


def delegated(
    count: int, host: str, project: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Have such a host delegate in a project, to its end."""
    return subprocess.run(
        [sys.executable, __file__, str(count), host],
        cwd=project,
        env={**env, "PI_SUBAGENTS_PI": QUICK_PI_COMMAND},
        capture_output=True,
        text=True,
        check=False,
    )


def looks_of(heard: str) -> list[Look]:
    """Return what a host told."""
    return [Look(**look) for look in json.loads(heard)]


async def main(count: int, *, kept: bool) -> list[Look]:
    """Delegate everything; a wrong answer ends it."""
    pool = Pool() if kept else None
    looks = [_look(0)]
    for first in range(0, count, PER_CALL):
        await _call(first, pool)
        looks.append(_look(first + PER_CALL))
    if pool is not None:
        await pool.close()
    return [*looks, _look(count)]


async def _call(first: int, pool: Pool | None) -> None:
    prompts = [f"task {number}" for number in range(first, first + PER_CALL)]
    tasks = [Task(prompt, prompt) for prompt in prompts]
    options: Options = {"concurrency": AT_ONCE}
    if pool is not None:
        options["pool"] = pool
    done = await delegate(tasks, **options)
    answers = [result.output for result in done.results]
    if answers != [ANSWER.format(prompt) for prompt in prompts]:
        raise AssertionError(done.summary)


def _look(tasks: int) -> Look:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_bytes().split()[1])
    return Look(
        tasks=tasks,
        wall_s=time.monotonic(),
        cpu_s=time.process_time(),
        memory=pages * os.sysconf("SC_PAGE_SIZE"),
        descriptors=_descriptors(),
        processes=len(descendants(os.getpid())),
    )


def _descriptors() -> list[str]:
    """Return what every descriptor leads to; numbers of pipes and sockets tell nothing."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists
            found.append(os.readlink(f"/proc/self/fd/{name}").partition(":[")[0])
    return sorted(found)


if __name__ == "__main__":
    heard = asyncio.run(main(int(sys.argv[1]), kept=sys.argv[2] == POOL))
    print(json.dumps([asdict(look) for look in heard]))
