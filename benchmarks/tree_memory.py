"""
How much memory a command and everything below it have at their highest.

Looks at /proc while the command runs, which costs time: not to be used where time is measured.
Resident memory is summed up, so pages that processes share count in each of them.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import MB, peak_memory_mb

from pi_subagents.runners.supervisor_start import supervisor_argv
from pi_subagents.system.process_tree import descendants

if TYPE_CHECKING:
    import subprocess

SAMPLE_EVERY_S = 0.05
PAGES_PER_MB = MB // 4096
_SUPERVISOR = b"\0".join(map(os.fsencode, supervisor_argv()))


@dataclass(slots=True)
class Peaks:
    """Memory at its highest, in one run that was looked at while it ran."""

    tree_mb: float = 0
    supervisor_mb: float = 0


def watched(process: subprocess.Popen[bytes]) -> Peaks:
    """Look at a command until it ends."""
    peaks = Peaks()
    while process.poll() is None:
        tree = descendants(process.pid)
        peaks.tree_mb = max(peaks.tree_mb, sum(map(resident_mb, (process.pid, *tree))))
        mine = (peak_memory_mb(pid) or 0 for pid in tree if _is_supervisor(pid))
        peaks.supervisor_mb = max((peaks.supervisor_mb, *mine))
        time.sleep(SAMPLE_EVERY_S)
    return peaks


def resident_mb(pid: int) -> float:
    """Return what a process has in memory now; 0 for one that is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) / PAGES_PER_MB
    except (OSError, IndexError):
        return 0


def _is_supervisor(pid: int) -> bool:
    try:
        return _SUPERVISOR in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
