"""
Distinguish processes: a pid alone proves nothing, since numbers are reused.

An Identity names one process on one boot of one machine: boot, pid namespace, pid, start time
and, where the kernel numbers its handles (6.9 and later), the handle's own number.  Before a signal
the identity is proven, through a handle that cannot be reused.  Where the kernel has no handles
(before 5.3), or a sandbox forbids them, everything else is proven right before the signal: a number
would have to be reused in that instant.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PROC = Path("/proc")
# Errors of a kernel without handles, and of a sandbox that forbids them.
_NOT_OFFERED = (errno.ENOSYS, errno.EPERM, errno.EACCES)
_GONE = (errno.ESRCH, errno.EINVAL)
_HANDLES_ARE_NUMBERED = (6, 9)
_STAT_SIZE = 4096
_STAT_FIELDS = 20  # after the name: state, parent, ... start time


@value
class ProcessState:
    """Where a process is in the tree, and its state as the kernel's one letter."""

    state: str
    parent: int
    group: int
    session: int
    started: str


@value
class Identity:
    """One process, for as long as this machine is up."""

    pid: int
    start_ticks: str
    boot_id: str
    pid_namespace: str
    handle: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return what meta.json keeps."""
        return {
            "pid": self.pid,
            "startTicks": self.start_ticks,
            "bootId": self.boot_id,
            "pidNamespace": self.pid_namespace,
            "handle": self.handle,
        }


def identity_from_json(value: object) -> Identity | None:
    """Read an identity back; None where anything is missing, which proves nothing."""
    match value:
        case {
            "pid": int(pid),
            "startTicks": str(ticks),
            "bootId": str(boot),
            "pidNamespace": str(namespace),
            "handle": (int() | None) as handle,
        } if pid > 0:
            return Identity(pid, ticks, boot, namespace, handle)
    return None


def identify(pid: int) -> Identity | None:
    """Return the identity of a living process, or None where that cannot be known."""
    boot, namespace = boot_id(), pid_namespace()
    with suppress(ProcessLookupError), _handle_on(pid) as handle:
        state = process_state(pid)
        if state is None or boot is None or namespace is None:
            return None
        number = None if handle is None else _handle_number(handle)
        return Identity(pid, state.started, boot, namespace, number)
    return None


def kill_proven(identity: Identity) -> None:
    """Kill exactly that process, if it still exists."""
    signal_proven(identity.pid, lambda: is_alive(identity), signal.SIGKILL)


def is_alive(identity: Identity) -> bool:
    """Return whether exactly that process still runs; one that only waits to be reaped does not."""
    with suppress(ProcessLookupError), _handle_on(identity.pid) as handle:
        state = process_state(identity.pid)
        return (
            state is not None
            and state.state != "Z"
            and state.started == identity.start_ticks
            and boot_id() == identity.boot_id
            and pid_namespace() == identity.pid_namespace
            # Where there are no handles, the rest has to do.
            and (handle is None or _handle_number(handle) == identity.handle)
        )
    return False


def kill_exactly(pid: int, started: str) -> None:
    """Kill the process that was seen, not a later one of that number."""

    def is_meant() -> bool:
        state = process_state(pid)
        return state is not None and state.started == started

    signal_proven(pid, is_meant, signal.SIGKILL)


def signal_proven(pid: int, is_meant: Callable[[], bool], number: signal.Signals) -> bool:
    """Signal a process if `is_meant` returns so while we hold a handle on it; return whether."""
    with suppress(ProcessLookupError), _handle_on(pid) as handle:
        return is_meant() and _send(pid, handle, number)
    return False


def _send(pid: int, handle: int | None, number: signal.Signals) -> bool:
    """Signal a process that was just proven, by its handle if any; return whether that worked."""
    try:
        if handle is not None:
            try:
                signal.pidfd_send_signal(handle, number)
            except OSError as error:
                if error.errno not in _NOT_OFFERED:
                    raise
            else:
                return True
        os.kill(pid, number)
    except OSError:  # it ended meanwhile, or is not ours to signal
        return False
    return True


def handles_are_offered() -> bool:
    """Return whether this kernel, or the sandbox we are in, gives handles on processes."""
    with suppress(OSError), _handle_on(os.getpid()) as handle:
        if handle is not None:
            signal.pidfd_send_signal(handle, 0)
            return True
    return False


@contextmanager
def _handle_on(pid: int) -> Iterator[int | None]:
    """
    Hold a handle on a process, where there are handles; what is proven meanwhile stays true.

    ProcessLookupError where there is no such process.
    """
    handle = None
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        if error.errno in _GONE:
            raise ProcessLookupError(pid) from error
    except AttributeError:  # no such call on this system
        pass
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def process_state(pid: int) -> ProcessState | None:
    """Return parent, group, session and start of a process; None where they are not known."""
    fields = _stat_fields(pid)
    try:
        parent, group, session = map(int, fields[1:4])
        return ProcessState(fields[0].decode(), parent, group, session, fields[19].decode("ascii"))
    except (IndexError, ValueError):
        return None


def all_processes() -> list[int]:
    """Return the pids of this machine, as far as the kernel shows them."""
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - see below
    except OSError:
        return []


def newest_first() -> list[int]:
    """Return the pids of this machine, the youngest first as far as their numbers show."""
    pids = sorted(all_processes(), reverse=True)
    try:
        last = int((_PROC / "sys/kernel/ns_last_pid").read_bytes())
    except (OSError, ValueError):
        return pids
    # Numbers wrap around: those above the last one are the oldest.
    return [*(pid for pid in pids if pid <= last), *(pid for pid in pids if pid > last)]


def boot_id() -> str | None:
    """Return the kernel's name for this boot."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None


def pid_namespace() -> str | None:
    """Return the namespace in which our pids mean something."""
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return None


def _stat_fields(pid: int) -> list[bytes]:
    """
    Return what follows the process's name, which may hold anything, parentheses included.

    Looking at all processes after each run took half of a supervisor's time with `Path` objects: so
    there are none here, and no more is read and split than is needed.
    """
    try:
        stat = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.read(stat, _STAT_SIZE).rpartition(b")")[2].split(None, _STAT_FIELDS)
    except OSError:  # it ended meanwhile
        return []
    finally:
        os.close(stat)


def _handle_number(handle: int) -> int | None:
    """Return the number of the process behind a handle, where each process has its own."""
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    return os.fstat(handle).st_ino if version >= _HANDLES_ARE_NUMBERED else None
