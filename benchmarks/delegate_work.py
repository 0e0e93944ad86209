"""
Delegate prompts in a process of our own, as a host would; tell on standard output what it took.

Started by the benchmarks: `python delegate_work.py <file> [<file for a call before it>]`.  A file
holds a list of prompts.  With one before it the host keeps its children, as the MCP server and the
bridge of pi do, and only the second call is measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from pi_subagents import Task, delegate
from pi_subagents.service.call import Pool

if TYPE_CHECKING:
    from pi_subagents.service.call import Options


def main() -> int:
    measured, *before = (json.loads(Path(name).read_bytes()) for name in sys.argv[1:])
    wall_s = asyncio.run(_as_kept_host(measured, before) if before else _once(measured))
    print(json.dumps({"wallMs": wall_s * 1000, "cpuMs": time.process_time() * 1000}))
    return 0


async def _as_kept_host(measured: list[str], before: list[list[str]]) -> float:
    pool = Pool()
    try:
        for prompts in before:
            await _once(prompts, pool=pool)
        return await _once(measured, pool=pool)
    finally:
        await pool.close()


async def _once(prompts: list[str], **options: Unpack[Options]) -> float:
    tasks = [Task(f"task-{number}", prompt) for number, prompt in enumerate(prompts, 1)]
    begun = time.perf_counter()
    done = await delegate(tasks, **options)
    if not all(result.completed for result in done.results):
        raise RuntimeError(done.summary)
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
