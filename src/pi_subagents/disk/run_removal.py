"""Measure and remove run directories; only finished ones, and never through a link."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from pi_subagents.core.retention import KeptRun

if TYPE_CHECKING:
    from pi_subagents.disk.run_dir import RunDir


def kept_run(run_dir: RunDir) -> KeptRun:
    """Return what a run takes, and when it ended if it is over."""
    size = 0
    try:
        with os.scandir(run_dir.path) as entries:
            size = sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
        # The result is written once, at the end: its time is the run's end, without reading it.
        ended = run_dir.result.lstat().st_mtime_ns // 1_000_000
    except OSError:
        return KeptRun(run_dir.run_id, None, size)
    return KeptRun(run_dir.run_id, None if run_dir.supervised() else ended, size)


def remove_finished(run_dir: RunDir) -> bool:
    """Remove a run that is over; return whether it is gone from the store."""
    if kept_run(run_dir).ended_ms is None or run_dir.path.is_symlink():
        return False
    # Renamed first: half removed, it must not look like a run that lost its result.
    doomed = run_dir.path.with_name(f".removing-{run_dir.run_id}")
    try:
        run_dir.path.rename(doomed)
    except OSError:
        return False
    shutil.rmtree(doomed, ignore_errors=True)
    return True
