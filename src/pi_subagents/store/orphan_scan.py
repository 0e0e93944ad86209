"""
Find processes that outlived their supervisor, by the marker in their environment.

While a supervisor lives, every process of its run is below it, whoever else knows that run.
Only processes of this user are looked at, and nothing is signalled here: people decide.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pi_subagents.core.run.markers import MARKER_VARIABLE
from pi_subagents.core.value import value
from pi_subagents.system.identity import all_processes, process_state

_SUPERVISOR = b"pi_subagents.supervisor.main"
_MARKER = re.compile(rb"(?:^|\0)" + MARKER_VARIABLE.encode("ascii") + rb"=([0-9a-f]{32})(?=\0|$)")


@value
class Marked:
    """A living process that was started for a run."""

    pid: int
    run_id: str


def find_orphans() -> list[Marked]:
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
    while pid not in seen and (process := process_state(pid)) is not None:
        seen.add(pid)
        pid = process.parent
        try:
            if _SUPERVISOR in Path(f"/proc/{pid}/cmdline").read_bytes():
                return True
        except OSError:  # above the first process, or gone
            return False
    return False
