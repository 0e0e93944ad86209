"""
End a whole tree of processes: everything below the caller.

On Linux the caller becomes a child subreaper, so that every orphan of the tree becomes its own
child: when there is no child left to wait for, nothing of the tree is alive.  Elsewhere the
process group has to do.

Processes that fork and exit as fast as they can are gone before one has looked at all of them.  So
our own children are killed first, as fast as possible (`storms`), and all processes are looked at
when there are no new ones: what is below a process that we cannot end is found there, and killed
as soon as it is seen, the youngest first, together with its whole group.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.system.identity import (
    ProcessState,
    all_processes,
    newest_first,
    process_state,
    signal_seen,
)
from pi_subagents.system.storms import kill_children, kill_group_of_child

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Mapping

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_SWEEP_PAUSE_S = 0.01
SWEEP_LIMIT_S = 10.0
REAPED_AT_ONCE = 4096
REAPED_IN_A_STORM = 256

Reaped = dict[int, int]


def become_subreaper() -> bool:
    """Adopt every orphan among our descendants; return whether the kernel agreed."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def is_subreaper() -> bool:
    """Return whether every orphan among our descendants becomes our child."""
    libc = _libc()
    if libc is None:
        return False
    import ctypes

    answer = ctypes.c_int()
    return libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0) == 0 and bool(
        answer.value
    )


def die_with_parent() -> Callable[[], None]:
    """Return a function for a new child to call before it executes: TERM when its parent dies."""
    libc = _libc()
    parent = os.getpid()

    def arrange() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:  # the parent died in between
                os._exit(1)

    return arrange


def reap(at_most: int = REAPED_AT_ONCE) -> tuple[Reaped, bool]:
    """
    Collect ended children; return wait statuses by pid and whether any child is left.

    A limited number at once: in a storm, processes could end faster than we collect them, for ever.
    """
    statuses: Reaped = {}
    for _ in range(at_most):
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses, False
        if pid == 0:
            return statuses, True
        statuses[pid] = status
    return statuses, True


def kill_tree(group: int | None, on_reaped: Callable[[Reaped], None]) -> bool:
    """Kill and reap every descendant, sweep until none is left; return whether that succeeded."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    strangers: set[int] = set()
    known: set[int] = set()
    killed: set[tuple[int, str]] = set()
    if group is not None:
        kill_group_of_child(group)
    if not is_subreaper():  # orphans do not become our children: find them while they have a parent
        _look_around(group, strangers)
    while True:
        any_new = kill_children(known)
        # In a storm, looking again is more urgent than reaping.
        statuses, any_left = reap(REAPED_IN_A_STORM if any_new else REAPED_AT_ONCE)
        known -= statuses.keys()
        on_reaped(statuses)
        if not any_left:
            return True
        if time.monotonic() >= deadline:
            return False
        if any_new:
            continue
        before, killed = killed, _look_around(group, strangers)
        if killed <= before:  # none is new: they need a moment to die
            time.sleep(_SWEEP_PAUSE_S)
            strangers.clear()


def _look_around(group: int | None, strangers: set[int]) -> set[tuple[int, str]]:
    """Kill what is below us, children of others too; without /proc the group has to do."""
    if group is not None and not all_processes():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    return _kill_below_us(strangers)


def _kill_below_us(strangers: set[int]) -> set[tuple[int, str]]:
    """
    Kill every process below us as soon as it is seen; return those that were alive.

    A process that turned out not to be below us is not looked at again for a while.
    """
    us, own_session = os.getpid(), os.getsid(0)
    found: dict[int, ProcessState] = {}
    groups: set[int] = set()  # each is killed once: in a storm it may have thousands of members
    for pid in newest_first():
        if pid in strangers or (process := process_state(pid)) is None:
            continue
        found[pid] = process
        if process.parent != us:
            continue
        if process.state != "Z":
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)  # a child's number is its own until we reap it
        elif process.session != own_session and process.group not in groups:
            # It is in a session that was begun below us, and so is its group.  A group keeps its
            # number while it has a member, and a dead child that we have not reaped is one.
            groups.add(process.group)
            with suppress(OSError):
                os.killpg(process.group, signal.SIGKILL)
    below = _below(us, found)
    for pid, started in below.items():
        if found[pid].parent != us:
            kill_exactly(pid, started)
    strangers.update(found.keys() - below.keys())
    return {(pid, started) for pid, started in below.items() if found[pid].state != "Z"}


def descendants(root: int) -> dict[int, str]:
    """Return the start time of every process below `root`, by pid."""
    return _below(root, {pid: found for pid in all_processes() if (found := process_state(pid))})


def _below(root: int, processes: Mapping[int, ProcessState]) -> dict[int, str]:
    found: dict[int, str] = {}
    frontier = {root}
    while frontier:
        below = {
            pid: process.started
            for pid, process in processes.items()
            if process.parent in frontier and pid not in found
        }
        found.update(below)
        frontier = set(below)
    return found


def kill_exactly(pid: int, started: str) -> None:
    """Kill the process we saw, not a later one of that number."""
    signal_seen(pid, started, signal.SIGKILL)


def _prctl(option: int, value: int) -> bool:
    libc = _libc()
    return libc is not None and libc.prctl(option, value, 0, 0, 0) == 0


def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)
