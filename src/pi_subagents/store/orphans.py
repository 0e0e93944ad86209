"""
Find and end what a killed supervisor left behind, by the marker in its children's environment.

Only processes of this user are looked at, and each is proven to carry the marker of exactly this
run before it is signalled, through a handle that cannot be reused where the kernel has handles.  A
process that emptied its own environment is not found; while its supervisor lives, none escapes
(`process_tree`).
"""

from __future__ import annotations

import signal
import time
from functools import partial
from pathlib import Path

from pi_subagents.core.run.markers import MARKER_VARIABLE
from pi_subagents.system.identity import (
    all_processes,
    newest_first,
    process_state,
    signal_proven,
)

SWEEP_LIMIT_S = 5.0
CLEAN_LOOKS = 2
# Processes that come and go while we look may be of the run, or of anybody: so long is looked on.
UNSURE_LIMIT_S = 0.5
_PAUSE_S = 0.02


def find_strays(run_id: str) -> list[int]:
    """Return the pids of living processes that carry this run's marker."""
    return [pid for pid in all_processes() if _carries(pid, run_id)]


def end_strays(run_id: str) -> int:
    """Kill every process of the run until none is left; return how many could not be ended."""
    began = time.monotonic()
    clean_looks = 0
    while True:
        found, unsure = _kill_marked(run_id)
        waited_s = time.monotonic() - began
        clean = not found and (not unsure or waited_s >= UNSURE_LIMIT_S)
        # A process that is just executing another program shows no environment: look twice.
        clean_looks = clean_looks + 1 if clean else 0
        if clean_looks == CLEAN_LOOKS or waited_s >= SWEEP_LIMIT_S:
            return found
        if not found:
            time.sleep(_PAUSE_S)


def _kill_marked(run_id: str) -> tuple[int, bool]:
    """Kill each process of the run as soon as it is seen; tell how many, and if some were gone."""
    found, unsure = 0, False
    for pid in newest_first():
        if _carries(pid, run_id):
            found += 1
            signal_proven(pid, partial(_carries, pid, run_id), signal.SIGKILL)
        elif not unsure:
            unsure = process_state(pid) is None
    return found, unsure


def _carries(pid: int, run_id: str) -> bool:
    wanted = f"{MARKER_VARIABLE}={run_id}".encode("ascii")
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or not ours to look at
        return False
