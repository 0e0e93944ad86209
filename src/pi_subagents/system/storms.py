"""
End children that fork and exit as fast as they can, faster than all processes can be looked at.

In: what the kernel shows of our own children.  Out: every child that lived when we looked is
killed, and what is killed forks no more.  Never: a signal to a process that is not below us.  A
child's number is its own until we reap it, and nothing is reaped in here, so that no proof is
needed, which would take longer than such a process lives.

Thousands of them lie about dead, and 64 sessions of them leave us a fiftieth of the machine, a few
milliseconds at a time.  So the first look has to fit into one of those turns: we ask about the
numbers that were given out last, whatever else there is.  Only then we go through the list of all
children, each of them once.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_LINUX = sys.platform == "linux"
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT if _LINUX else 0
_LAST_NUMBER = Path("/proc/sys/kernel/ns_last_pid")
_TASKS = "/proc/self/task"
_READ_SIZE = 1 << 16
# Measured with 64 chains on two processors: the living are among the last 100 to 300, once 700.
YOUNGEST = 512
_LOOKS_AT_YOUNGEST = 20


def kill_children(known: set[int]) -> bool:
    """
    Kill every child of ours that is not known, dead or alive; return whether there was one.

    It is known from then on, until it is reaped and taken out.  Where the kernel does not list
    children there is none.
    """
    if not _LINUX:
        return False
    _kill_group_of_a_dead_child()
    any_new = False
    for _ in range(_LOOKS_AT_YOUNGEST):
        if not _kill_youngest(known):
            break
        any_new = True
    return _kill_listed(known) or any_new


def kill_group_of_child(pid: int) -> None:
    """
    Kill the group of a child of ours, all of it at once, if that child has begun a session.

    No fork escapes that.  The child keeps its number, dead or alive, so that no group but its own
    can have it.
    """
    if not _LINUX:
        return
    with suppress(OSError):
        os.waitid(os.P_PID, pid, _PEEK)  # an error, if it is no child of ours
        if os.getsid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)


def _kill_group_of_a_dead_child() -> None:
    """
    Kill the group that some dead child of ours was in: of a storm in one session, that is all.

    Only what is below us is in a session that was begun below us.  A group keeps its number while
    it has a member, and a dead child that we have not reaped can no longer leave it.
    """
    with suppress(OSError):
        dead = os.waitid(os.P_ALL, 0, _PEEK)
        if dead is not None and os.getsid(dead.si_pid) != os.getsid(0):
            os.killpg(os.getpgid(dead.si_pid), signal.SIGKILL)


def _kill_youngest(known: set[int]) -> bool:
    """Kill living children whose number was given out lately; return whether any was new."""
    try:
        last = int(_LAST_NUMBER.read_bytes())
    except (OSError, ValueError):
        return False
    found = []
    for pid in range(last, max(last - YOUNGEST, 1), -1):
        if pid in known:
            continue
        try:
            if os.waitid(os.P_PID, pid, _PEEK) is None:  # ours, and it lives
                os.kill(pid, signal.SIGKILL)
                found.append(pid)
        except OSError:  # not ours, or of another user by now
            continue
    known.update(found)
    return bool(found)


def _kill_listed(known: set[int]) -> bool:
    """Kill all children that are not known, the last adopted first; return whether any was new."""
    found = [pid for pid in reversed(_children()) if pid not in known]
    for pid in found:
        with suppress(OSError):  # of another user by now
            os.kill(pid, signal.SIGKILL)
    known.update(found)
    return bool(found)


def _children() -> list[int]:
    """Return the numbers of our children, the last adopted by a thread at its end."""
    found = b""
    with suppress(OSError):
        for task in os.listdir(_TASKS):  # noqa: PTH208 - a path for each takes longer than we have
            with suppress(OSError):
                file = os.open(f"{_TASKS}/{task}/children", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    while data := os.read(file, _READ_SIZE):
                        found += data
                finally:
                    os.close(file)
            found += b" "
    return [int(pid) for pid in found.split()]
