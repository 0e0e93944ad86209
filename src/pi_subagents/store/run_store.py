"""
Where the runs of a project live, and how one is found by its id.

`.pi/subagents/runs/` under the caller's project root; under the user's data directory where
the project cannot be written.  Ids are random, so that no two callers ever meet.  A run is noted
in `.planned` before its directory is made and until the index knows it, so that what a planner that
died in between left is found without looking at every run.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import RuntimeDirUnusable, StoreUnwritable
from pi_subagents.store.desk import DESKS, Desk, rescued_dir
from pi_subagents.store.run_dir import RunDir
from pi_subagents.system import safe_io
from pi_subagents.system.home import PROJECT_RUNS, data_dir, project_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TIDY_EVERY_S = 86_400
_PLACE_BYTES = 8  # half as long as a run's id
_RUN_ID = re.compile(r"[0-9a-f]{32}")
RUN_ID_BEGINNING = re.compile(r"[0-9a-f]{1,32}")


def new_run_id() -> str:
    """Return 128 random bits."""
    return os.urandom(16).hex()


def new_session_id() -> str:
    """Return 16 hex digits: short enough for people and models."""
    return os.urandom(8).hex()


@value
class RunStore:
    """The runs of one project, and where the desks of active ones are."""

    runs_dir: Path
    data_dir: Path

    @property
    def planned_dir(self) -> Path:
        """Where runs are noted that the index does not know yet, by their ids."""
        return self.runs_dir / ".planned"

    @property
    def rescued_dir(self) -> Path:
        """Where runs of this project are kept that lost their directories."""
        return rescued_dir(self.data_dir, self.runs_dir)

    def run_dir(self, run_id: str) -> RunDir:
        """Return where a run of that id lives, whether or not it exists."""
        return self._run_dir(self.runs_dir / run_id).now()

    def _run_dir(self, path: Path) -> RunDir:
        return RunDir(path, Desk(self.data_dir / DESKS / path.name))

    def runs(self) -> list[RunDir]:
        """Return every run directory, newest first."""
        found: dict[str, tuple[int, str]] = {}
        for directory in (self.runs_dir, self.rescued_dir):  # one that is in both lives in the last
            try:
                entries = [
                    entry for entry in os.scandir(directory) if _RUN_ID.fullmatch(entry.name)
                ]
            except FileNotFoundError:
                continue
            for entry in entries:
                with suppress(FileNotFoundError):  # another process removes runs meanwhile
                    if entry.is_dir(follow_symlinks=False):
                        changed = entry.stat(follow_symlinks=False).st_mtime_ns
                        found[entry.name] = changed, entry.path
        newest_first = sorted(found.values(), key=lambda each: each[0], reverse=True)
        return [self._run_dir(Path(path)) for _, path in newest_first]

    def announce(self, run_id: str) -> None:
        """Note a run whose directory is about to be made; OSError where that cannot be done."""
        if self._has_notes():
            safe_io.write_new(self.planned_dir / run_id, b"")

    def planned(self) -> list[RunDir] | None:
        """Return the runs that are noted, made or not; None where nothing can be noted."""
        if not self._has_notes():
            return None
        names = os.listdir(self.planned_dir)  # noqa: PTH208 - names are all that is wanted
        return [self._run_dir(self.runs_dir / name) for name in names if _RUN_ID.fullmatch(name)]

    def withdraw(self, runs: Iterable[RunDir]) -> None:
        """Remove the notes of runs that the index knows by now."""
        for run in runs:
            with suppress(OSError):  # another process was quicker; or it stays until the next look
                (self.planned_dir / run.run_id).unlink()

    def withdraw_unmade(self) -> None:
        """Remove old notes of runs that were never made, or were discarded."""
        self.withdraw(run for run in self.planned() or () if self._will_not_be_made(run))

    def _will_not_be_made(self, run: RunDir) -> bool:
        try:
            age_s = time.time() - (self.planned_dir / run.run_id).lstat().st_mtime
        except OSError:
            return False
        # Looked for in this order: a directory is made under the one name, and gets the other.
        exists = os.path.lexists(run.making) or os.path.lexists(run.path)
        return age_s >= TIDY_EVERY_S and not exists

    def _has_notes(self) -> bool:
        try:  # not through a link, which may have come with a cloned repository
            return stat.S_ISDIR(self.planned_dir.lstat().st_mode)
        except FileNotFoundError:
            return False

    def due_for_tidying(self) -> bool:
        """Return whether a day has passed since this last returned so."""
        mark = self.runs_dir / ".tidied"
        with suppress(OSError):
            with suppress(FileNotFoundError):
                if 0 <= time.time() - mark.lstat().st_mtime < TIDY_EVERY_S:
                    return False
            safe_io.replace_file(mark, b"")
            return True
        return False

    def prepare(self) -> None:
        """Make the store ready for a new run; nothing of it is ever offered to git."""
        try:
            safe_io.make_private_dirs(self.runs_dir)
            with suppress(FileExistsError):
                safe_io.make_private_dir(self.planned_dir)
            ignore = self.runs_dir / ".gitignore"
            if not ignore.exists():
                safe_io.write_new(ignore, b"*\n")
        except FileExistsError:  # another process was quicker
            pass
        except OSError as error:
            raise StoreUnwritable(str(self.runs_dir), str(error)) from error


def open_store(cwd: Path, env: Mapping[str, str]) -> RunStore:
    """Return the store for callers in `cwd`, without creating anything."""
    root, data = project_root(cwd), data_dir(env)
    home = data if _is_usable(data) else _spare_home(data, env)
    if _may_hold_runs(root):
        return RunStore(root.joinpath(*PROJECT_RUNS), home)
    return RunStore(data / "runs" / place_name(root), home)


def place_name(root: Path) -> str:
    """
    Return the name under which the runs of a project are kept that cannot keep them itself.

    Each has its own: the runs of one such project are not another's to list or to remove.
    """
    real = os.fsencode(os.path.realpath(root))
    return blake2b(real, digest_size=_PLACE_BYTES).hexdigest()


def _is_usable(directory: Path) -> bool:
    """Return whether a directory exists or can be made, and takes files."""
    for place in (directory, *directory.parents):
        try:
            is_dir = stat.S_ISDIR(place.stat().st_mode)
        except FileNotFoundError:
            continue
        except OSError:
            return False
        return is_dir and os.access(place, os.W_OK | os.X_OK)
    return False


def _spare_home(data: Path, env: Mapping[str, str]) -> Path:
    """Return where desks are if the data directory takes none: it is for attached runs alone."""
    from pi_subagents.system.runtime_dir import runtime_dir  # seldom needed

    try:
        return runtime_dir(env)
    except RuntimeDirUnusable:
        return data  # a call is refused there, with the reason


def _may_hold_runs(root: Path) -> bool:
    """
    Return whether a project can keep runs: writable, and nobody can lead us elsewhere.

    A link below the root may have come with a cloned repository, and the owner of the directory of
    runs could swap what is in it.
    """
    place = root
    for name in PROJECT_RUNS:
        try:
            info = (place / name).lstat()
        except FileNotFoundError:
            break
        except OSError:
            return False
        if not stat.S_ISDIR(info.st_mode):
            return False
        place /= name
    else:
        if info.st_uid != os.geteuid():
            return False
    return os.access(place, os.W_OK | os.X_OK)
