"""
Find processes that outlived their supervisor, by the marker in their environment.

While a supervisor lives, every process of its run is below it, whoever else knows that run.
Only processes of this user are looked at, and nothing is signalled here: people decide.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.core.invocation import MARKER_VARIABLE
from pi_subagents.procs.identity import all_processes, process_stat

_SUPERVISOR = b"pi_subagents.procs.supervise"
_MARKER = re.compile(rb"(?:^|\0)" + MARKER_VARIABLE.encode("ascii") + rb"=([0-9a-f]{32})(?=\0|$)")


@dataclass(frozen=True, slots=True)
class Marked:
    """A living process that was started for a run."""

    pid: int
    run_id: str


def find_leftovers() -> list[Marked]:
    """Return every process that was started for a run and has no supervisor above it."""
    marked = ((pid, marker_of(pid)) for pid in all_processes() if pid != os.getpid())
    return [
        Marked(pid, run_id)
        for pid, run_id in marked
        if run_id is not None and not _is_below_supervisor(pid)
    ]


def marker_of(pid: int) -> str | None:
    """Return the run for which a process of this user was started; None if there is none."""
    process = Path(f"/proc/{pid}")
    try:
        if process.stat().st_uid != os.getuid():  # root may look at everybody's
            return None
        match = _MARKER.search((process / "environ").read_bytes())
    except OSError:  # gone, or not ours to look at
        return None
    return match[1].decode("ascii") if match else None


def _is_below_supervisor(pid: int) -> bool:
    seen: set[int] = set()
    while pid not in seen and (stat := process_stat(pid)) is not None:
        seen.add(pid)
        pid = stat[0]
        try:
            if _SUPERVISOR in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:  # above the first process, or gone
            return False
    return False
