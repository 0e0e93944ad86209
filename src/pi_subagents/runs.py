"""
The composition root for looking at runs: list, find, stop, wait, and recover what a crash left.

Every look recovers first, so that nobody is ever shown a run as running that is not.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.liveness import Liveness
from pi_subagents.core.retention import choose_removals
from pi_subagents.core.run_spec import KILL, STOP
from pi_subagents.delegation.runs import RunView, view_run
from pi_subagents.disk.config_home import data_dir
from pi_subagents.disk.run_index import IndexedRun, RunIndex
from pi_subagents.disk.run_removal import kept_run, remove_finished
from pi_subagents.disk.run_store import RUN_ID_BEGINNING, open_store
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.errors import (
    RunAmbiguous,
    RunNotActive,
    RunNotFound,
    RunUnreadable,
    index_unusable,
)
from pi_subagents.procs.recovery import conclude_lost, liveness_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.core.retention import Removal
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.disk.run_store import RunStore


class Runs:
    """The runs a caller in some directory can see."""

    def __init__(self, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._cwd = cwd or Path.cwd()
        self.store: RunStore = open_store(self._cwd, self._env)
        self.index = RunIndex(data_dir(self._env))

    def seal(self, run_dir: RunDir) -> str | None:
        """Return the mark by which the run is known as ours even if the index is lost."""
        with suppress(OSError):
            return self.index.seal(run_dir)
        return None

    def add(self, specs: Iterable[RunSpec]) -> str:
        """Make planned runs known; return what to say where that is impossible."""
        now_ms = time.time_ns() // 1_000_000
        try:
            self.index.add(IndexedRun(s.run_id, s.session_id, s.run_dir, now_ms) for s in specs)
        except (sqlite3.Error, OSError) as error:
            return index_unusable(str(error))
        return ""

    def note_ended(self, results: Iterable[RunResult]) -> None:
        """Spare later looks these runs; a look would find out by itself."""
        with suppress(sqlite3.Error, OSError):
            self.index.mark_ended(result.run_id for result in results)

    def recover(self) -> list[RunDir]:
        """Conclude every lost run of this user, wherever it lives; return those."""
        concluded, ended, gone = [], [], []
        with suppress(sqlite3.Error, OSError):  # a look must work where nothing can be written
            self.index.adopt_sealed(self.store.runs())
            for run in self.index.not_ended():
                if not run.run_dir.path.is_dir():
                    gone.append(run.run_id)
                    continue
                liveness = liveness_of(run.run_dir)
                if liveness is Liveness.LOST and conclude_lost(run.run_dir) is not None:
                    concluded.append(run.run_dir)
                    liveness = Liveness.FINISHED
                if liveness is Liveness.FINISHED:
                    ended.append(run.run_id)
            self.index.mark_ended(ended)
            self.index.remove(gone)
        return concluded

    def newest(self) -> Iterator[RunView | RunUnreadable]:
        """Yield this project's runs, newest first; a damaged one harms only itself."""
        self.recover()
        for run_dir in self.store.runs():
            try:
                yield view_run(run_dir, liveness_of(run_dir))
            except RunUnreadable as error:
                yield error

    def find(self, run: str) -> RunView:
        """Return a run by its id or the beginning of it, from anywhere on this machine."""
        self.recover()
        return self._view(self._locate(run))

    def stop(self, view: RunView, *, force: bool) -> RunView:
        """End a run and return how it stands then; RunNotActive if it is over."""
        if not view.active or not view.run_dir.send(KILL if force else STOP):
            raise RunNotActive(view.run_dir.run_id, view.status)
        view.run_dir.wait_unsupervised()
        return self._view(view.run_dir)

    def choose_removals(
        self, *, days: float | None = None, megabytes: float | None = None
    ) -> list[Removal]:
        """Return which runs of this project have been kept long enough."""
        settings, _ = load_settings(self._cwd, self._env)
        limit = settings.retention_megabytes if megabytes is None else megabytes
        return choose_removals(
            (kept_run(run_dir) for run_dir in self.store.runs()),
            now_ms=time.time_ns() // 1_000_000,
            max_age_days=settings.retention_days if days is None else days,
            max_bytes=int(limit * 1024 * 1024),
        )

    def remove(self, removals: Iterable[Removal]) -> list[str]:
        """Remove run directories that are still finished; return the ids of those removed."""
        removed = [
            removal.run.run_id
            for removal in removals
            if remove_finished(self.store.run_dir(removal.run.run_id))
        ]
        with suppress(sqlite3.Error, OSError):
            self.index.remove(removed)
        return removed

    def keep_tidy(self) -> None:
        """Apply the limits by themselves, at most once a day."""
        if self.store.due_for_tidying():
            self.remove(self.choose_removals())

    def _view(self, run_dir: RunDir) -> RunView:
        return view_run(run_dir, liveness_of(run_dir))

    def _locate(self, run: str) -> RunDir:
        if not RUN_ID_BEGINNING.fullmatch(run):
            raise RunNotFound(run, str(self.store.runs_dir))
        found = {each.run_id: each for each in self.store.runs() if each.run_id.startswith(run)}
        with suppress(sqlite3.Error, OSError):
            indexed = [row.run_dir for row in self.index.starting_with(run)]
            found |= {each.run_id: each for each in indexed if each.path.is_dir()}
        if not found:
            raise RunNotFound(run, str(self.store.runs_dir))
        if len(found) > 1:
            raise RunAmbiguous(run, tuple(sorted(found)))
        return next(iter(found.values()))
