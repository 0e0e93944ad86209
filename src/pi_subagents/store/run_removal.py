"""
Measure and remove run directories; only finished ones, and never through a link.

A directory is renamed before it is removed, so that half removed it cannot look like a run that
lost its result; what an interrupted removal left under that name is removed by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.store.run_dir import MAKING, RunDir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pi_subagents.core.run.retention import Kept
    from pi_subagents.store.desk import Desk
    from pi_subagents.store.run_store import RunStore

_LEFTOVER = re.compile(r"\.(?:removing|making)-[0-9a-f]{32}")
_MAKING_TAKES_S = 60  # a directory that is still being made is younger than this
_BLOCK_BYTES = 512  # what st_blocks counts, whatever the file system's own block size


def kept_run(run_dir: RunDir) -> Kept:
    """Return a run with when it ended, if it is over, and what it takes."""
    size = 0
    try:
        with os.scandir(run_dir.path) as entries:
            for entry in entries:
                size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
        # The result is written once, at the end: its time is the run's end, without reading it.
        ended = run_dir.result.lstat().st_mtime_ns // 1_000_000
    except OSError:
        return run_dir.run_id, None, size
    return run_dir.run_id, None if run_dir.alive() else ended, size


def remove_finished(run_dir: RunDir) -> bool:
    """Remove a run that is over; return whether it is gone from the store."""
    if run_dir.path.is_symlink():
        return False
    if not run_dir.path.exists():  # another process was quicker
        return True
    _, ended_ms, _ = kept_run(run_dir)
    if ended_ms is None:
        return False
    doomed = run_dir.path.with_name(f".removing-{run_dir.run_id}")
    try:
        run_dir.path.rename(doomed)
    except OSError:
        return False
    shutil.rmtree(doomed, ignore_errors=True)
    run_dir.desk.clear()
    return True


def interrupted_removals(store: RunStore) -> list[Path]:
    """Return the directories that a removal renamed and did not finish, by name."""
    found = []
    for directory in (store.runs_dir, store.rescued_dir):
        with suppress(OSError), os.scandir(directory) as entries:
            found += [
                Path(entry.path)
                for entry in entries
                if _LEFTOVER.fullmatch(entry.name)
                and entry.is_dir(follow_symlinks=False)
                and not _being_made(entry, lambda run_id: store.run_dir(run_id).desk)
            ]
    return sorted(found)


def _being_made(entry: os.DirEntry[str], desk_of: Callable[[str], Desk]) -> bool:
    if not entry.name.startswith(MAKING):
        return False
    # Its lock is taken first thing; before that, it is young by any clock that was not set.
    young = time.time() - entry.stat(follow_symlinks=False).st_mtime < _MAKING_TAKES_S
    return young or desk_of(entry.name.removeprefix(MAKING)).alive()


def remove_unmade(runs: Iterable[RunDir]) -> list[RunDir]:
    """Take away what is left of runs whose planner died while he made them; return those."""
    removed = []
    for run_dir in runs:
        making = run_dir.path.with_name(f"{MAKING}{run_dir.run_id}")
        with suppress(OSError):
            old = time.time() - making.lstat().st_mtime >= _MAKING_TAKES_S
            if old and not run_dir.alive() and not making.is_symlink():
                shutil.rmtree(making, ignore_errors=True)
                run_dir.desk.clear()
                removed.append(run_dir)
    return removed


def finish_removals(store: RunStore) -> int:
    """Finish what interrupted removals began; return how many directories are gone."""
    leftovers = interrupted_removals(store)
    for leftover in leftovers:
        shutil.rmtree(leftover, ignore_errors=True)  # it refuses to follow links by itself
    return sum(not leftover.exists() for leftover in leftovers)
