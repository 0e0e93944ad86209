"""
End a whole tree of processes: everything below the caller, or a supervisor with all below it.

On Linux the caller becomes a child subreaper, so that every orphan of the tree becomes its own
child: when there is no child left to wait for, nothing of the tree is alive.  Elsewhere the
process group has to do.

Processes that fork and exit as fast as they can are gone before one has looked at all of them.  So
our own children are killed first, as fast as possible (`storms`), and all processes are looked at
when there are no new ones: what is below a process that we cannot end is found there, and killed
as soon as it is seen, the youngest first, together with its whole group.

A supervisor that no longer responds is ended from outside, by its identity, more than a number.  It
is halted first: from then on every process of its run stays below it until it is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.system.identity import (
    Identity,
    ProcessState,
    all_processes,
    is_alive,
    kill_exactly,
    newest_first,
    process_state,
    signal_proven,
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
GONE_LIMIT_S = 5.0
CLEAN_LOOKS = 2
_DEAD = ("Z", "X")  # ended, and not yet reaped
REAPED_AT_ONCE = 4096
REAPED_IN_A_STORM = 256

Reaped = dict[int, int]


def become_subreaper() -> bool:
    """Adopt every orphan among our descendants; return whether the kernel agreed."""
    libc = _libc()
    return libc is not None and libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def is_subreaper() -> bool:
    """Return whether every orphan among our descendants becomes our child."""
    libc = _libc()
    if libc is None:
        return False
    import ctypes

    answer = ctypes.c_int()  # stays 0 where the call fails
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


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
    return kill_below_us(strangers)


def kill_below_us(strangers: set[int]) -> set[tuple[int, str]]:
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


def end_supervisor(supervisor: Identity | None) -> bool:
    """End exactly that process and what it started; return whether nothing of it is left."""
    if supervisor is None:
        return False
    exists = partial(is_alive, supervisor)
    if not signal_proven(supervisor.pid, exists, signal.SIGSTOP):
        return not exists()
    swept = _sweep(supervisor.pid)
    signal_proven(supervisor.pid, exists, signal.SIGKILL)
    deadline = time.monotonic() + GONE_LIMIT_S
    while exists() and time.monotonic() < deadline:
        time.sleep(_SWEEP_PAUSE_S)
    return swept and not exists()


def _sweep(root: int) -> bool:
    """Kill what is below a process until nothing of it lives; return whether that succeeded."""
    deadline = time.monotonic() + SWEEP_LIMIT_S
    clean_looks = 0
    while clean_looks < CLEAN_LOOKS:  # one may have started while we looked
        if _kill_below(root):
            clean_looks = 0
            if time.monotonic() >= deadline:
                return False
        else:
            clean_looks += 1
            time.sleep(_SWEEP_PAUSE_S)
    return True


def _kill_below(root: int) -> bool:
    """Kill every process below another as soon as it is seen; return whether there was any."""
    found = False
    for pid in newest_first():  # what forks and exits soon becomes the root's own child
        process = process_state(pid)
        if process is not None and process.parent == root and process.state not in _DEAD:
            kill_exactly(pid, process.started)
            found = True
    for pid, started in descendants(root).items():
        process = process_state(pid)
        if process is not None and process.state not in _DEAD:
            kill_exactly(pid, started)
            found = True
    return found


def _libc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    import ctypes

    return ctypes.CDLL(None)
