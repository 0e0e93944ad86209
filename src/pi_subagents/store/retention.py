"""
Which runs are kept: measure and remove directories, and remember when a store was looked at.

Only finished runs are removed, and never through a link.  A directory is renamed before it is
removed, so that half removed it cannot look like a run that lost its result; what an interrupted
removal left under that name is removed by the next one.  What earlier looks found the time to be is
kept in the data directory, not in the project: a task could otherwise make everything there look
old.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.retention import Look, Watch
from pi_subagents.store.run_dir import MAKING, RunDir
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.retention import Kept
    from pi_subagents.store.run_store import RunStore

DIRECTORY = "retention"
SCHEMA_VERSION = 1
MAX_BYTES = 64 * 1024
DIGEST_BYTES = 16
_UNFINISHED = re.compile(r"\.(?:removing|making)-[0-9a-f]{32}")
_MAKING_TAKES_S = 60  # a directory that is still being made is younger than this
_BLOCK_BYTES = 512  # what st_blocks counts, whatever the file system's own block size


def kept_run(run_dir: RunDir) -> Kept:
    """Return a run's id, when it ended if it is over, and how many bytes it takes."""
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
    _forget_changes(run_dir)
    return True


def _forget_changes(run_dir: RunDir) -> None:
    """Remove what the data directory has of a run's changes."""
    data_dir = run_dir.desk.path.parent.parent
    if any((data_dir / "workspaces").glob(f"*/runs/{run_dir.run_id}")):
        from pi_subagents.workspaces.concluding import forget_run

        forget_run(data_dir, run_dir.run_id, os.environ)


def interrupted_removals(store: RunStore) -> list[Path]:
    """Return the directories that a removal renamed and did not finish, by name."""
    found = []
    for directory in (store.runs_dir, store.rescued_dir):
        with suppress(OSError), os.scandir(directory) as entries:
            found += [
                Path(entry.path)
                for entry in entries
                if _UNFINISHED.fullmatch(entry.name)
                and entry.is_dir(follow_symlinks=False)
                and not _is_being_made(entry, store)
            ]
    return sorted(found)


def _is_being_made(entry: os.DirEntry[str], store: RunStore) -> bool:
    if not entry.name.startswith(MAKING):
        return False
    # Its lock is acquired first; before that, it is young by any clock that was not set.
    young = time.time() - entry.stat(follow_symlinks=False).st_mtime < _MAKING_TAKES_S
    return young or store.run_dir(entry.name.removeprefix(MAKING)).alive()


def remove_unmade(runs: Iterable[RunDir]) -> list[RunDir]:
    """Remove what is left of runs whose planner died while it made them; return those."""
    removed = []
    for run_dir in runs:
        with suppress(OSError):
            old = time.time() - run_dir.making.lstat().st_mtime >= _MAKING_TAKES_S
            if old and not run_dir.alive() and not run_dir.making.is_symlink():
                shutil.rmtree(run_dir.making, ignore_errors=True)
                run_dir.desk.clear()
                removed.append(run_dir)
    return removed


def finish_removals(store: RunStore) -> int:
    """Finish what interrupted removals began; return how many directories are gone."""
    unfinished = interrupted_removals(store)
    for path in unfinished:
        shutil.rmtree(path, ignore_errors=True)  # it refuses to follow links by itself
    return sum(not path.exists() for path in unfinished)


class RetentionLooks:
    """When stores were last looked at, one file for each in a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = data_dir / DIRECTORY

    def find(self, runs_dir: Path) -> Watch | None:
        """Return what the last look at a store found."""
        try:
            content = safe_io.read_json(self._file(runs_dir), MAX_BYTES)
        except (OSError, ValueError):
            return None
        match content:
            case {
                "schemaVersion": 1,
                "now": int(now_ms),
                "provenS": (int() | float()) as proven_s,
                "last": {
                    "now": int(last_ms),
                    "boot": (str() | None) as boot,
                    "upS": (int() | float()) as up_s,
                },
            }:
                return Watch(now_ms, proven_s, Look(last_ms, boot, up_s))
        return None

    def keep(self, runs_dir: Path, watch: Watch) -> bool:
        """Keep what a look found; return whether that was possible."""
        last = watch.last
        content = {
            "schemaVersion": SCHEMA_VERSION,
            "runs": str(runs_dir),
            "now": watch.now_ms,
            "provenS": watch.proven_s,
            "last": {"now": last.now_ms, "boot": last.boot, "upS": last.up_s},
        }
        try:
            for directory in (self._directory.parent, self._directory):
                safe_io.make_private_dirs(directory)
            safe_io.replace_file(self._file(runs_dir), safe_io.to_json_bytes(content))
        except OSError:
            return False
        return True

    def _file(self, runs_dir: Path) -> Path:
        name = blake2b(os.fsencode(runs_dir), digest_size=DIGEST_BYTES).hexdigest()
        return self._directory / f"{name}.json"
