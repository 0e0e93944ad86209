"""
Tell processes apart: a pid alone is no proof, numbers are reused.

An Identity names one process on one boot of one machine: boot, pid namespace, pid, start time
and, where the kernel numbers its handles (6.9 and later), the handle's own number.  Whoever
wants to signal a process proves the identity first, through a handle that cannot be reused.  Where
the kernel has no handles (before 5.3), or a sandbox forbids them, everything else is proven right
before the signal: a number would have to be given out again in that instant.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pi_subagents.core.value import value

_PROC = Path("/proc")
# What a kernel says that has no handles, and what a sandbox says that forbids them.
_NOT_OFFERED = (errno.ENOSYS, errno.EPERM, errno.EACCES)
_GONE = (errno.ESRCH, errno.EINVAL)
_HANDLES_ARE_NUMBERED = (6, 9)
_STAT_SIZE = 4096
_STAT_FIELDS = 20  # after the name: state, parent, ... start time


@value
class Seen:
    """Where a process stands, and its state in the kernel's one letter."""

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
    if not isinstance(value, Mapping):
        return None
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
    with suppress(ProcessLookupError), _held(pid) as handle:
        stat = process_stat(pid)
        if stat is None or boot is None or namespace is None:
            return None
        number = None if handle is None else _handle_number(handle)
        return Identity(pid, stat[1], boot, namespace, number)
    return None


def open_proven(identity: Identity) -> int | None:
    """Return a handle on exactly that process, or None if it is gone; the caller closes it."""
    with suppress(ProcessLookupError):
        handle = _open_handle(identity.pid)
        if handle is not None:
            # Read after the handle was opened: what is proven now holds for the handle for ever.
            if _is(identity, handle):
                return handle
            os.close(handle)
    return None


def kill_proven(identity: Identity) -> None:
    """Kill exactly that process, if it still exists."""
    with suppress(ProcessLookupError), _held(identity.pid) as handle:
        if _is(identity, handle):
            send(identity.pid, handle, signal.SIGKILL)


def is_alive(identity: Identity) -> bool:
    """Tell whether exactly that process still runs; one that only waits to be reaped does not."""
    with suppress(ProcessLookupError), _held(identity.pid) as handle:
        fields = _stat_fields(identity.pid)
        return _is(identity, handle) and bool(fields) and fields[0] != b"Z"
    return False


def signal_seen(pid: int, started: str, number: signal.Signals) -> bool:
    """Signal the process we saw, not one that took its number since; tell whether it was there."""
    with suppress(ProcessLookupError), _held(pid) as handle:
        seen = process_stat(pid)
        return seen is not None and seen[1] == started and send(pid, handle, number)
    return False


def signal_proven(pid: int, is_meant: Callable[[], bool], number: signal.Signals) -> bool:
    """Signal a process if it is the one that is meant, asked while it is held; tell whether."""
    with suppress(ProcessLookupError), _held(pid) as handle:
        return is_meant() and send(pid, handle, number)
    return False


def send(pid: int, handle: int | None, number: signal.Signals) -> bool:
    """Signal a process that was just proven, by its handle if there is one; tell whether it was."""
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
    """Tell whether this kernel, or the sandbox we are in, gives handles on processes."""
    with _held(os.getpid()) as handle:
        if handle is None:
            return False
        try:
            signal.pidfd_send_signal(handle, 0)
        except OSError:
            return False
        return True


@contextmanager
def _held(pid: int) -> Iterator[int | None]:
    """
    Hold a process by a handle, where there are handles; what is proven meanwhile stays true.

    ProcessLookupError where there is no such process.
    """
    handle = _open_handle(pid)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _is(identity: Identity, handle: int | None) -> bool:
    """Tell whether the process of that number is the one that is meant."""
    stat = process_stat(identity.pid)
    return (
        stat is not None
        and stat[1] == identity.start_ticks
        and boot_id() == identity.boot_id
        and pid_namespace() == identity.pid_namespace
        # Where we are given no handles, the rest has to do.
        and (handle is None or _handle_number(handle) == identity.handle)
    )


def seen(pid: int) -> Seen | None:
    """Return where a process stands in the tree; None where that cannot be known."""
    fields = _stat_fields(pid)
    try:
        parent, group, session = map(int, fields[1:4])
        return Seen(fields[0].decode(), parent, group, session, fields[19].decode("ascii"))
    except (IndexError, ValueError):
        return None


def process_stat(pid: int) -> tuple[int, str] | None:
    """Return parent and start time in ticks since boot, or None where that cannot be known."""
    fields = _stat_fields(pid)
    try:
        return int(fields[1]), fields[19].decode("ascii")
    except (IndexError, ValueError):
        return None


def all_processes() -> list[int]:
    """Return the pids of this machine, as far as the kernel shows them."""
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - see below
    except OSError:
        return []


def newest_first() -> list[int]:
    """Return the pids of this machine, the youngest first as far as numbers tell."""
    pids = sorted(all_processes(), reverse=True)
    try:
        last = int((_PROC / "sys/kernel/ns_last_pid").read_bytes())
    except (OSError, ValueError):
        return pids
    # Numbers begin anew where they end: those above the last one are the oldest.
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

    A look at the whole machine after each run was half of a supervisor's work with paths and files:
    so there are neither here, and no more is read and taken apart than is wanted.
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


def _open_handle(pid: int) -> int | None:
    """Return a handle on a process; None where there are none to be had."""
    try:
        return os.pidfd_open(pid)
    except OSError as error:
        if error.errno in _GONE:
            raise ProcessLookupError(pid) from error
        return None
    except AttributeError:  # no such call on this system
        return None


def _handle_number(handle: int) -> int | None:
    """Return the number of the process behind a handle, where each process has its own."""
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    return os.fstat(handle).st_ino if version >= _HANDLES_ARE_NUMBERED else None
