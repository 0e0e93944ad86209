"""
Tell processes apart: a pid alone is no proof, numbers are reused.

In: a pid.  Out: facts that together name one process on one boot of one machine.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def process_stat(pid: int) -> tuple[int, str] | None:
    """Return parent and start time in ticks since boot, or None where that cannot be known."""
    try:
        # The name in the second field may hold anything, parentheses included.
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[1]), fields[19].decode("ascii")
    except (OSError, IndexError, ValueError):
        return None


def all_processes() -> list[int]:
    """Return the pids of this machine, as far as the kernel shows them."""
    try:
        return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def process_identity(pid: int) -> dict[str, object]:
    """Return what meta.json keeps about a process."""
    stat = process_stat(pid)
    return {"pid": pid, "startTicks": stat[1] if stat else None, "bootId": boot_id()}


def own_identity() -> dict[str, object]:
    """Return the identity of the calling process."""
    return process_identity(os.getpid())


def boot_id() -> str | None:
    """Return the kernel's name for this boot."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
