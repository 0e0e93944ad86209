"""
End a whole tree of processes: everything below the caller.

On Linux the caller becomes a child subreaper, so that every orphan of the tree becomes its own
child: when there is no child left to wait for, nothing of the tree is alive.  Elsewhere the
process group has to do.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.procs.identity import all_processes, process_stat

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_SWEEP_PAUSE_S = 0.01
SWEEP_LIMIT_S = 10.0

Reaped = dict[int, int]


def become_subreaper() -> bool:
    """Adopt every orphan among our descendants; return whether the kernel agreed."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def is_subreaper() -> bool:
    """Tell whether every orphan among our descendants becomes our child."""
    libc = _libc()
    if libc is None:
        return False
    import ctypes

    answer = ctypes.c_int()
    return libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0 and bool(
        answer.value
    )


def die_with_parent() -> Callable[[], None]:
    """Return what a new child runs before it executes: it gets TERM when its parent dies."""
    libc = _libc()
    parent = os.getpid()

    def arrange() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:  # the parent died in between
                os._exit(1)

    return arrange


def reap() -> tuple[Reaped, bool]:
    """Collect every ended child; return wait statuses by pid and whether any child is left."""
    statuses: Reaped = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses, False
        if pid == 0:
            return statuses, True
        statuses[pid] = status


def kill_tree(group: int | None, on_reaped: Callable[[Reaped], None]) -> bool:
    """Kill and reap every descendant, sweep until none is left; return whether that succeeded."""
    if is_subreaper():  # then no child left means no descendant left: spare the look at everything
        statuses, any_left = reap()
        on_reaped(statuses)
        if not any_left:
            return True
    deadline = time.monotonic() + SWEEP_LIMIT_S
    everything_is_seen = bool(all_processes())  # without /proc the group has to do
    while True:
        if group is not None and not everything_is_seen:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for pid, started in descendants(os.getpid()).items():
            kill_exactly(pid, started)
        statuses, any_left = reap()
        on_reaped(statuses)
        if not any_left:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_SWEEP_PAUSE_S)


def descendants(root: int) -> dict[int, str]:
    """Return the start time of every process below `root`, by pid."""
    parents = {pid: stat for pid in all_processes() if (stat := process_stat(pid))}
    found: dict[int, str] = {}
    frontier = {root}
    while frontier:
        below = {
            pid: started
            for pid, (parent, started) in parents.items()
            if parent in frontier and pid not in found
        }
        found.update(below)
        frontier = set(below)
    return found


def kill_exactly(pid: int, started: str) -> None:
    """Kill the process we saw, not one that took its number since."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            seen = process_stat(pid)
            if seen is not None and seen[1] == started:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def _prctl(option: int, value: int) -> bool:
    libc = _libc()
    return libc is not None and libc.prctl(option, value, 0, 0, 0) == 0


def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)
