"""What the kernel tells about processes, for tests to look at."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def peak_memory(pid: int) -> int:
    """Return the most memory in bytes a living process ever had in use."""
    return int(_status(pid)["VmHWM"].split()[0]) * 1024


def parent_of(pid: int) -> int:
    """Return the parent of a living process."""
    return int(_status(pid)["PPid"])


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or only waits to be reaped."""
    try:
        return _status(pid)["State"].startswith("Z")
    except (OSError, KeyError):
        return True


def children_of(pid: int) -> list[int]:
    """Return the processes whose parent that is."""
    found = []
    for other in command_lines():
        with suppress(OSError):  # it ended meanwhile
            if parent_of(other) == pid:
                found.append(other)
    return found


def _status(pid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "status").read_text("ascii", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def command_lines() -> dict[int, bytes]:
    """Return what every process of the machine was called with."""
    found = {}
    for name in os.listdir(PROC):
        if name.isdigit():
            try:
                found[int(name)] = (PROC / name / "cmdline").read_bytes()
            except OSError:  # it ended meanwhile
                continue
    return found
