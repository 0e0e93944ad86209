"""
Whether a child that has served a run may serve another, and what is ended in between.

In: a child and what its run left behind.  Out: an answer; whatever the run started and left
running is dead by then, and a child whose limits it changed is not kept.  Linux only: without /proc
nothing is known, and no child is kept.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import MAX_REUSE
from pi_subagents.system import process_tree
from pi_subagents.system.identity import kill_exactly

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.supervisor.child import Child

MAX_AGE_S = 3600.0
MAX_BYTES = 400 * 1024 * 1024
SWEEP_LIMIT_S = 1.0
_PAUSE_S = 0.01


def note_own_processes(child: Child) -> None:
    """Remember the processes of the child before it does anything: a wrapper may be one."""
    child.own_processes = frozenset({child.pid, *process_tree.descendants(os.getpid())})
    child.conditions = conditions_of(child.pid)


def may_serve_again(child: Child, on_reaped: Callable[[process_tree.Reaped], None]) -> bool:
    """Return whether the child is fit for another run, with nothing of the last one alive."""
    return (
        child.runs < MAX_REUSE
        and time.monotonic() - child.started < MAX_AGE_S
        and 0 < _resident_bytes(child.own_processes) <= MAX_BYTES
        and end_orphans(child.own_processes, on_reaped)
        and not child.ended
        and conditions_of(child.pid) == child.conditions
    )


def end_orphans(own: frozenset[int], on_reaped: Callable[[process_tree.Reaped], None]) -> bool:
    """Kill and reap what does not belong to the child; return whether nothing is left of it."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    while True:
        left = {
            pid: started
            for pid, started in process_tree.descendants(os.getpid()).items()
            if pid not in own
        }
        if not left:
            return True
        for pid, started in left.items():
            kill_exactly(pid, started)
        on_reaped(process_tree.reap()[0])
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE_S)


def conditions_of(pid: int) -> bytes:
    """Return what a process of the same user can change of another from outside: its limits."""
    found = []
    for name in ("limits", "oom_score_adj"):
        with suppress(OSError):
            found.append(Path(f"/proc/{pid}/{name}").read_bytes())
    with suppress(OSError):
        found.append(str(os.getpriority(os.PRIO_PROCESS, pid)).encode("ascii"))
        found.append(repr(sorted(os.sched_getaffinity(pid))).encode("ascii"))
    return b"\n".join(found)


def _resident_bytes(pids: frozenset[int]) -> int:
    """Return how much memory the processes have; 0 where that is not known."""
    pages = 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
