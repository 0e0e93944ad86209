"""
The composition root for looking at runs: list, find, stop, wait, and recover what a crash left.

Every look recovers first, so that nobody is ever shown a run as running that is not.  What a new
call has to recover before it begins takes no longer the more runs are kept.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.liveness import Liveness
from pi_subagents.core.retention import choose_removals
from pi_subagents.core.run_spec import KILL, STOP
from pi_subagents.delegation.run_view import RunView, never_started, view_run
from pi_subagents.disk.config_home import data_dir
from pi_subagents.disk.run_index import IndexedRun, RunIndex
from pi_subagents.disk.run_removal import (
    finish_removals,
    interrupted_removals,
    kept_run,
    remove_finished,
)
from pi_subagents.disk.run_store import RUN_ID_BEGINNING, open_store
from pi_subagents.disk.settings_files import load_settings
from pi_subagents.errors import (
    RunAmbiguous,
    RunNotActive,
    RunNotFound,
    RunNotListening,
    RunUnreadable,
)
from pi_subagents.procs.completion_hook import tell_completion
from pi_subagents.procs.identity import boot_id
from pi_subagents.procs.recovery import conclude_lost, liveness_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.core.retention import Removal
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.disk.run_store import RunStore


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a rebuilding of the index came to, in run directories."""

    adopted: int
    left_out: int  # unreadable, or copies of runs that are kept elsewhere
    forgotten: int  # gone


class Runs:
    """The runs a caller in some directory can see."""

    def __init__(self, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._cwd = cwd or Path.cwd()
        self.store: RunStore = open_store(self._cwd, self._env)
        self.index = RunIndex(data_dir(self._env))

    def seal(self, run_dir: RunDir) -> str | None:
        """
        Return the mark by which a run is known as ours even where the index does not know it.

        Asked for before the directory is made: from then on, whoever looks next looks for it.
        OSError where the store takes no note of that.
        """
        try:
            seal = self.index.seal(run_dir)
        except OSError:
            return None
        self.store.announce(run_dir.run_id)
        return seal

    def add(self, specs: Iterable[RunSpec]) -> str:
        """Make planned runs known; return why that is impossible, where it is."""
        now_ms = time.time_ns() // 1_000_000
        rows = [
            IndexedRun(s.run_id, s.session_id, s.run_dir, now_ms, detached=not s.attached)
            for s in specs
        ]
        try:
            self.index.add(rows)
        except (sqlite3.Error, OSError) as error:
            return str(error) or type(error).__name__
        self.store.withdraw(row.run_dir for row in rows)
        return ""

    def note_ended(self, results: Iterable[RunResult]) -> None:
        """Spare later looks these runs; one whose result found no room is left to them."""
        with suppress(sqlite3.Error, OSError):
            ids = [result.run_id for result in results]
            self.index.mark_ended(i for i in ids if self.store.run_dir(i).result.exists())

    def recover(self, *, thorough: bool = False) -> list[RunDir]:
        """
        Conclude every lost run of this user, wherever it lives; return those.

        Thoroughly: after a look at every run of this project, not only where one may be missing.
        """
        concluded, ended, gone = [], [], []
        with suppress(sqlite3.Error, OSError):  # a look must work where nothing can be written
            with suppress(sqlite3.Error, OSError):  # what is known needs no room to be recovered
                self._make_known(thorough=thorough)
            for run in self.index.not_ended():
                if not os.path.lexists(run.run_dir.path):
                    gone.append(run.run_id)
                    continue
                liveness = liveness_of(run.run_dir)
                with suppress(OSError):  # a run without room for its result harms no other
                    if liveness is Liveness.LOST and conclude_lost(run.run_dir):
                        concluded.append(run.run_dir)
                        liveness = Liveness.FINISHED
                if liveness is Liveness.FINISHED:
                    ended.append(run.run_id)
                    if run.detached and (result := run.run_dir.read_result()):
                        # Its supervisor may have died before it could.
                        tell_completion(self._on_complete(), run.run_dir, result)
            self.index.mark_ended(ended)
            self.index.remove(gone)
        return concluded

    def _make_known(self, *, thorough: bool) -> None:
        """Adopt what is ours here and not in the index: that was lost, or a planner died."""
        # Both before the look: what is different afterwards is left to the next one.
        planned = self.store.planned()
        mark = None if planned is None else self._mark()
        complete = mark is not None and self.index.knows_all(self.store.runs_dir, mark)
        made = [run for run in planned or () if os.path.lexists(run.path)]
        if thorough or not complete:
            self._look_through(None if complete else mark)
        else:
            self.index.adopt_sealed(made)
        unknown = set(self.index.unknown(made))  # these stay noted: another index may know them
        self.store.withdraw(run for run in made if run not in unknown)

    def _look_through(self, mark: str | None) -> None:
        """Adopt whatever of this project carries our seal; note the mark if nothing is left."""
        found = self.store.runs()
        self.index.adopt_sealed(found)
        if mark is not None and all(map(self.index.foreign, self.index.unknown(found))):
            self.index.note_all_known(self.store.runs_dir, mark)

    def _mark(self) -> str | None:
        """
        Return what is another once the index may not know what it knew; None if that is unknown.

        Another index is in its place, or another store; or the power was cut, and what was written
        last is not on disk.
        """
        try:
            places = [path.lstat() for path in (self.store.planned_dir, self.index.path)]
        except OSError:
            return None
        boot = boot_id()
        return boot and " ".join([boot, *(f"{each.st_dev}:{each.st_ino}" for each in places)])

    def _on_complete(self) -> tuple[str, ...]:
        return load_settings(self._cwd, self._env)[0].on_complete

    def newest(self) -> Iterator[RunView | RunUnreadable]:
        """Yield this project's runs, newest first; a damaged one harms only itself."""
        self.recover(thorough=True)
        for run_dir in self.store.runs():
            try:
                yield view_run(run_dir, liveness_of(run_dir))
            except RunUnreadable as error:
                yield error

    def find(self, run: str) -> RunView:
        """Return a run by its id or the beginning of it, from anywhere on this machine."""
        self.recover(thorough=True)
        return self._view(self._locate(run))

    def stop(self, view: RunView, *, force: bool) -> RunView:
        """
        End a run and return how it stands then.

        RunNotActive if it is over, RunNotListening if it goes on and nobody takes the order.
        """
        run_dir = view.run_dir
        if not view.active:
            raise RunNotActive(run_dir.run_id, view.status)
        if run_dir.send(KILL if force else STOP):
            run_dir.wait_for_end()
            return self._view(run_dir)
        # One that has begun listens until its result is there, if it ever does.
        if view.status != "planned":
            now = self._view(run_dir)
            if now.active:
                raise RunNotListening(run_dir.run_id)
            raise RunNotActive(run_dir.run_id, now.status)
        if not run_dir.write_result(never_started(view)):
            raise RunNotActive(run_dir.run_id, view.status)
        run_dir.send(KILL)  # to a supervisor that began to listen meanwhile
        return self._view(run_dir)

    def choose_removals(
        self, *, days: float | None = None, megabytes: float | None = None
    ) -> list[Removal]:
        """Return which runs of this project have been kept long enough; a limit of 0 is none."""
        settings, _ = load_settings(self._cwd, self._env)
        limit = settings.retention_megabytes if megabytes is None else megabytes
        return choose_removals(
            (kept_run(run_dir) for run_dir in self._own()),
            now_ms=time.time_ns() // 1_000_000,
            max_age_days=settings.retention_days if days is None else days,
            max_bytes=limit * 1024 * 1024,
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
        with suppress(OSError):  # tidying is never what keeps work from being done
            if self.store.due_for_tidying():
                self.finish_removals()
                self.remove(self.choose_removals())
                self.store.withdraw_unmade()

    def interrupted_removals(self) -> int:
        """Return how many removals were begun here and not finished."""
        return len(interrupted_removals(self.store.runs_dir))

    def finish_removals(self) -> int:
        """Finish those; return how many directories are gone now."""
        return finish_removals(self.store.runs_dir)

    def unknown(self) -> list[RunDir]:
        """Return this project's run directories that came from elsewhere: they are left alone."""
        found = self.store.runs()
        self.index.adopt_sealed(found)
        return self.index.unknown(found)

    def reindex(self) -> Reindexed:
        """Adopt what is unknown here, whoever made it, and forget what is gone everywhere."""
        unknown = self.index.unknown(self.store.runs())
        adopted = self.index.adopt(unknown)
        gone = [row.run_id for row in self.index.all() if not row.run_dir.path.is_dir()]
        self.index.remove(gone)
        return Reindexed(len(adopted), len(unknown) - len(adopted), len(gone))

    def _own(self) -> list[RunDir]:
        """Return the run directories that are ours to remove: known by the index, or sealed."""
        found = self.store.runs()
        try:
            self.index.adopt_sealed(found)
            unknown = set(self.index.unknown(found))
        except (sqlite3.Error, OSError):
            return [run_dir for run_dir in found if self.index.sealed(run_dir)]
        return [run_dir for run_dir in found if run_dir not in unknown]

    def _view(self, run_dir: RunDir) -> RunView:
        return view_run(run_dir, liveness_of(run_dir))

    def _locate(self, run: str) -> RunDir:
        if not RUN_ID_BEGINNING.fullmatch(run):
            raise RunNotFound(run, str(self.store.runs_dir))
        found = {each.run_id: each for each in self.store.runs() if each.run_id.startswith(run)}
        with suppress(sqlite3.Error, OSError):
            indexed = [row.run_dir for row in self.index.starting_with(run)]
            there = (each for each in indexed if each.path.is_dir() and not each.redirected())
            found |= {each.run_id: each for each in there}
        if not found:
            raise RunNotFound(run, str(self.store.runs_dir))
        if len(found) > 1:
            raise RunAmbiguous(run, tuple(sorted(found)))
        return next(iter(found.values()))
