"""
Tell processes apart: a pid alone is no proof, numbers are reused.

An Identity names one process on one boot of one machine: boot, pid namespace, pid, start time
and, where the kernel numbers its handles (6.9 and later), the handle's own number.  Whoever
wants to signal a process proves the identity first, through a handle that cannot be reused.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path

from pi_subagents.core.value import value

_PROC = Path("/proc")
_HANDLES_ARE_NUMBERED = (6, 9)
_STAT_SIZE = 4096
_STAT_FIELDS = 20  # after the name: state, parent, ... start time


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
    handle = _open_handle(pid)
    if handle is None:
        return None
    try:
        stat = process_stat(pid)
        boot, namespace = boot_id(), pid_namespace()
        if stat is None or boot is None or namespace is None:
            return None
        return Identity(pid, stat[1], boot, namespace, _handle_number(handle))
    finally:
        os.close(handle)


def open_proven(identity: Identity) -> int | None:
    """Return a handle on exactly that process, or None if it is gone; the caller closes it."""
    handle = _open_handle(identity.pid)
    if handle is None:
        return None
    # Read after the handle was opened: what is proven now holds for the handle for ever.
    stat = process_stat(identity.pid)
    proven = (
        stat is not None
        and stat[1] == identity.start_ticks
        and boot_id() == identity.boot_id
        and pid_namespace() == identity.pid_namespace
        and _handle_number(handle) == identity.handle
    )
    if proven:
        return handle
    os.close(handle)
    return None


def kill_proven(identity: Identity) -> None:
    """Kill exactly that process, if it still exists."""
    handle = open_proven(identity)
    if handle is not None:
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:  # it ended meanwhile
            pass
        finally:
            os.close(handle)


def is_alive(identity: Identity) -> bool:
    """Tell whether exactly that process still runs; one that only waits to be reaped does not."""
    handle = open_proven(identity)
    if handle is None:
        return False
    os.close(handle)
    fields = _stat_fields(identity.pid)
    return bool(fields) and fields[0] != b"Z"


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
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):  # gone; or no such call on this system
        return None


def _handle_number(handle: int) -> int | None:
    """Return the number of the process behind a handle, where each process has its own."""
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    return os.fstat(handle).st_ino if version >= _HANDLES_ARE_NUMBERED else None
