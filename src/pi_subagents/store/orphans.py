"""
Find and end what a killed supervisor left behind, by the marker in its children's environment.

Each process is proven to carry the marker of exactly this run before it is signalled, through a
handle that cannot be reused where the kernel has handles.  A process that emptied its own
environment is not found; while its supervisor lives, every process of a run is below it, and none
escapes (`process_tree`).  `find_orphans` signals nothing: people decide.
"""

from __future__ import annotations

import os
import re
import signal
import time
from functools import partial
from pathlib import Path

from pi_subagents.core.run.files import MARKER_VARIABLE
from pi_subagents.core.value import value
from pi_subagents.system.identity import all_processes, newest_first, process_state, signal_proven

SWEEP_LIMIT_S = 5.0
CLEAN_LOOKS = 2
# Processes that come and go while we look may be of the run or not: they are watched for so long.
UNSURE_LIMIT_S = 0.5
_PAUSE_S = 0.02
_SUPERVISOR = b"pi_subagents.supervisor.main"
_MARKER = re.compile(rb"(?:^|\0)" + MARKER_VARIABLE.encode("ascii") + rb"=([0-9a-f]{32})(?=\0|$)")


@value
class Marked:
    """A living process that was started for a run."""

    pid: int
    run_id: str


def find_orphans() -> list[Marked]:
    """Return every process of this user that was started for a run and has no supervisor above."""
    marked = ((pid, marker_of(pid)) for pid in all_processes() if pid != os.getpid())
    return [
        Marked(pid, run_id)
        for pid, run_id in marked
        if run_id is not None and not _is_below_supervisor(pid)
    ]


def marker_of(pid: int) -> str | None:
    """Return the run for which a process of this user was started; None if there is none."""
    process = Path(f"/proc/{pid}")
    try:
        if process.stat().st_uid != os.getuid():  # root may look at everybody's
            return None
        match = _MARKER.search((process / "environ").read_bytes())
    except OSError:  # gone, or not ours to look at
        return None
    return match[1].decode("ascii") if match else None


def _is_below_supervisor(pid: int) -> bool:
    seen: set[int] = set()
    while pid not in seen and (process := process_state(pid)) is not None:
        seen.add(pid)
        pid = process.parent
        try:
            if _SUPERVISOR in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:  # above the first process, or gone
            return False
    return False


def end_orphans(run_id: str) -> int:
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
    """Kill each process of the run as it is seen; return how many, and whether some were gone."""
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
