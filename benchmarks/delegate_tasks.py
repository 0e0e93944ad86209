"""
Delegate N tasks in a process of our own, as a host would; tell on standard output what it took.

Started by the benchmarks: `python delegate_tasks.py <count>`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pi_subagents import Task, delegate_sync

CONCURRENCY = 4
PROMPT = "Say that you are done, task {}"


def main() -> int:
    tasks = [Task(f"task-{i}", PROMPT.format(i)) for i in range(int(sys.argv[1]))]
    begun = time.perf_counter()
    delegation = delegate_sync(tasks, concurrency=CONCURRENCY)
    wall = time.perf_counter() - begun
    peak = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    )
    heard = {
        "wallMs": wall * 1000,
        "cpuS": time.process_time(),
        "peakMb": int(peak.split()[1]) / 1024,
    }
    print(json.dumps(heard))
    if all(result.completed for result in delegation.results):
        return 0
    print(delegation.summary, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
