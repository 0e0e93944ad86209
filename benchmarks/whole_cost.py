"""
What a command costs with everything that it started, even what it does not wait for itself.

In: what begins a command.  Out: processor time of all of its processes, or their memory at its
highest.  While it is measured this process adopts orphans, so that each of them is waited for here.
Memory is proportional (PSS): a page that processes share is divided among them.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.core.run.spec import FORK
from pi_subagents.runners.supervisor_start import supervisor_argv
from pi_subagents.system.identity import process_state
from pi_subagents.system.process_tree import become_subreaper, descendants

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

LOOK_EVERY_S = 0.2
PAUSE_S = 0.005
KB_PER_MB = 1024
_T = TypeVar("_T")


def cpu_ms_of(work: Callable[[], _T]) -> tuple[_T, float]:
    """Do some work that waits for its process; return with it the CPU of all that it started."""
    become_subreaper()
    known = set(descendants(os.getpid()))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = work()
    while left := set(descendants(os.getpid())) - known:
        for pid in left:  # those below others become ours when these have ended
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(PAUSE_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, used_s * 1000


@dataclass(slots=True)
class Peaks:
    """Memory at its highest: of a whole tree, and what one forked supervisor shares with nobody."""

    tree_mb: float = 0.0
    supervisor_mb: float = 0.0


def peaks_of(process: subprocess.Popen[bytes]) -> Peaks:
    """Look at a process and all below it until it ends."""
    peaks = Peaks()
    while process.poll() is None:
        tree = (process.pid, *descendants(process.pid))
        peaks.tree_mb = max(peaks.tree_mb, sum(map(proportional_mb, tree)))
        forked = (private_mb(pid) for pid in tree if _is_forked_supervisor(pid))
        peaks.supervisor_mb = max((peaks.supervisor_mb, *forked))
        time.sleep(LOOK_EVERY_S)
    return peaks


def proportional_mb(pid: int) -> float:
    """Return a process's share of the memory it uses; 0 for one that is gone."""
    return _rolled_up(pid, ("Pss:",))


def private_mb(pid: int) -> float:
    """Return what a process has in memory and shares with nobody; 0 for one that is gone."""
    return _rolled_up(pid, ("Private_Clean:", "Private_Dirty:"))


def _rolled_up(pid: int, names: tuple[str, ...]) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii", "replace").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith(names)) / KB_PER_MB


def _is_forked_supervisor(pid: int) -> bool:
    """Return whether a process was made by a fork server, and is not one itself."""
    state = process_state(pid)
    return state is not None and all(map(_forks, (pid, state.parent)))


def _forks(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[:-1] == [*map(os.fsencode, supervisor_argv()), FORK.encode("ascii")]
