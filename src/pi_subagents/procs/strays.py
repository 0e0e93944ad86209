"""
Find and end what a killed supervisor left behind, by the marker in its children's environment.

Only processes of this user are looked at, and each is proven to carry the marker of exactly this
run through a handle that cannot be reused before it is signalled.  A process that emptied its own
environment is not found; while its supervisor lives, none escapes (`process_tree`).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pi_subagents.core.invocation import MARKER_VARIABLE
from pi_subagents.procs.identity import all_processes

SWEEP_LIMIT_S = 5.0
CLEAN_LOOKS = 2
_PAUSE_S = 0.02


def find_strays(run_id: str) -> list[int]:
    """Return the pids of living processes that carry this run's marker."""
    return [pid for pid in all_processes() if _carries(pid, run_id)]


def end_strays(run_id: str) -> int:
    """Kill every process of the run until none is left; return how many could not be ended."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    clean_looks = 0
    while True:
        found = find_strays(run_id)
        for pid in found:
            _kill_marked(pid, run_id)
        # A process that is just executing another program shows no environment: look twice.
        clean_looks = 0 if found else clean_looks + 1
        if clean_looks == CLEAN_LOOKS or time.monotonic() >= deadline:
            return len(found)
        time.sleep(_PAUSE_S)


def _carries(pid: int, run_id: str) -> bool:
    wanted = f"{MARKER_VARIABLE}={run_id}".encode("ascii")
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone, or not ours to look at
        return False


def _kill_marked(pid: int, run_id: str) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _carries(pid, run_id):  # still the one we saw
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        pass
    finally:
        os.close(handle)
