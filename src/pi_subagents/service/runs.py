"""
Look at runs: list, find, stop, wait, and recover what a crash left.

Every look recovers first, so that nobody is ever shown a run as running that is not.  What a new
call has to recover before it begins takes no longer the more runs are kept.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.run.record import Liveness
from pi_subagents.core.run.retention import Look, choose_removals, watched
from pi_subagents.core.run.spec import PING
from pi_subagents.core.value import value
from pi_subagents.errors import (
    RunNotActive,
    RunNotAnswering,
    RunNotEnded,
    RunNotListening,
    RunUnreadable,
)
from pi_subagents.service.finding import find_run
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.store.completion import run_completion_hook
from pi_subagents.store.desk import DESKS, Desk, clear_stale_desks
from pi_subagents.store.ledger import Ledger
from pi_subagents.store.orders import ANSWER_LIMIT_S, STOP_LIMIT_S, Stopped, Stopping, send
from pi_subagents.store.recovery import conclude_lost, liveness_of, remove_half_written
from pi_subagents.store.retention import (
    RetentionLooks,
    finish_removals,
    interrupted_removals,
    kept_run,
    remove_finished,
    remove_unmade,
)
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.run_index import RunIndex
from pi_subagents.store.run_records import directory_of, load_record
from pi_subagents.store.run_store import open_store
from pi_subagents.system.home import data_dir, project_root
from pi_subagents.system.identity import boot_id
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.retention import Removal
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.service.cluster.ordering import RemoteStopping
    from pi_subagents.store.run_store import RunStore

LOOK_LIMIT_S = 0.5  # for a supervisor to answer somebody who only looks


@value
class Reindexed:
    """What a rebuilding of the index came to, in run directories."""

    adopted: int
    left_out: int  # unreadable, or copies of runs that are kept elsewhere
    forgotten: int  # gone


def look_now() -> Look:
    """Return this moment by the clock that can be set, and by the one that nobody can set."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return Look(time.time_ns() // 1_000_000, boot_id(), time.clock_gettime(clock))


class Runs:
    """The runs a caller in some directory can see."""

    def __init__(self, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self.env = os.environ if env is None else env
        self.cwd = cwd or Path.cwd()
        self.store: RunStore = open_store(self.cwd, self.env)
        self.index = RunIndex(data_dir(self.env))
        self.ledger = Ledger(data_dir(self.env), self.index.all)

    @property
    def project(self) -> Path:
        """The root of the project they are of."""
        return project_root(self.cwd)

    def seal(self, run_dir: RunDir) -> str | None:
        """
        Return the mark by which a run is known as ours even where the index does not know it.

        Before the directory is made: from then on, the next look searches for it.
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
        planned = [(spec, self.store.run_dir(spec.run_id)) for spec in specs]
        rows = [
            (spec.run_id, spec.session_id, str(run_dir.path), now_ms, not spec.attached)
            for spec, run_dir in planned
        ]
        try:
            self.index.add(rows)
        except (sqlite3.Error, OSError) as error:
            return str(error) or type(error).__name__
        self.store.withdraw(run_dir for _, run_dir in planned)
        return ""

    def note_ended(self, results: Iterable[RunResult]) -> None:
        """Spare later looks these runs; one whose result found no room is left to them."""
        with suppress(sqlite3.Error, OSError):
            ended = [self.store.run_dir(result.run_id) for result in results]
            ended = [run_dir for run_dir in ended if run_dir.result.exists()]
            for run_dir in ended:
                if run_dir.path.parent != self.store.runs_dir:  # it went elsewhere meanwhile
                    self.index.move(run_dir.run_id, run_dir.path)
                run_dir.desk.clear(found=True)  # most are gone: their supervisors did it
            self.ledger.note(ended)
            self.index.mark_ended(run_dir.run_id for run_dir in ended)

    def recover(self, *, thorough: bool = False) -> list[RunDir]:
        """
        Conclude every lost run of this user, wherever it lives; return those.

        Thoroughly: after a look at every run of this project, not only where one may be missing.
        """
        concluded: list[RunDir] = []
        with suppress(sqlite3.Error, OSError):  # a look must work where nothing can be written
            with suppress(sqlite3.Error, OSError):  # what is known needs no room to be recovered
                self._make_known(thorough=thorough)
            ended, gone, kept = [], [], []
            going_on = self.index.not_ended()
            self.refresh(noted.now() for noted in going_on)
            for noted, session_id in going_on.items():
                if not noted.now().exists() and not os.path.lexists(noted.desk.path):
                    gone.append(noted.run_id)
                elif self._has_ended(noted, session_id, concluded):
                    ended.append(noted.run_id)
                    kept.append(noted.now())
            self.ledger.note(kept)
            self.index.mark_ended(ended)
            self.index.remove(gone)
        return concluded

    def refresh(self, run_dirs: Iterable[RunDir], *, every_s: float = 0) -> None:
        """Bring what workers of a cluster did of these since the last look, if there are any."""
        if remote := [each for each in run_dirs if each.desk.is_remote()]:
            from pi_subagents.service.cluster.refreshing import refresh

            refresh(remote, self.cwd, self.env, every_s)

    def _has_ended(self, noted: RunDir, session_id: str, concluded: list[RunDir]) -> bool:
        """Look at one run, conclude it if it is lost; return whether nothing more is to do."""
        run_dir = noted.now()
        liveness = liveness_of(run_dir, session_id)
        if liveness is Liveness.LOST and run_dir.is_away():
            return False  # its disk or its project may come back, and with it its record
        if liveness is Liveness.ALIVE and not os.path.lexists(run_dir.path):
            with suppress(OSError):  # it looks for its directory, and finds it another
                send(run_dir.desk, PING, LOOK_LIMIT_S)
        with suppress(OSError):  # a run without room for its result harms no other
            if liveness is Liveness.LOST and conclude_lost(run_dir, session_id):
                concluded.append(run_dir.now())
                liveness = Liveness.FINISHED
        run_dir = run_dir.now()
        if run_dir.path != noted.path:
            self.index.move(run_dir.run_id, run_dir.path)
        if liveness is not Liveness.FINISHED:
            return False
        run_dir.desk.clear(found=True)
        if self.index.is_detached(run_dir.run_id) and (result := run_dir.read_result()):
            # Its supervisor may have died before it could.
            settings, _ = load_settings(self.cwd, self.env)
            run_completion_hook(settings.on_complete, run_dir, result)
        remove_half_written(run_dir)  # also by a process that was killed after the result was there
        return True

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
        self.store.withdraw(remove_unmade(run for run in planned or () if run not in made))

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

    def newest(self) -> Iterator[RunRecord | RunUnreadable]:
        """Yield this project's runs, newest first; a damaged one harms only itself."""
        self.recover(thorough=True)
        for run_dir in self.here():
            try:
                yield self._load(run_dir)
            except RunUnreadable as error:
                yield error

    def here(self) -> list[RunDir]:
        """Return this project's runs, newest first, wherever they are kept by now."""
        found = {run_dir.run_id: run_dir for run_dir in self.store.runs()}
        with suppress(sqlite3.Error, OSError):
            for noted in self.index.not_ended():
                if noted.run_id not in found and noted.path.parent == self.store.runs_dir:
                    found[noted.run_id] = noted.now()  # its directory is gone, and it is active
            left = [run_dir for run_dir in found.values() if not run_dir.result.exists()]
            for run_dir in self.index.unknown(left):  # it moved on from here
                for noted in self.index.starting_with(run_dir.run_id):
                    found[noted.run_id] = noted.now()
        there = (run_dir for run_dir in found.values() if run_dir.exists())
        return [run_dir for run_dir in there if not run_dir.redirected()]

    def find(self, wanted: str) -> RunRecord:
        """Return the run that is called so: by an id, the beginning of one, a name, or `last`."""
        return find_run(self, wanted)

    def of_session(self, session_id: str) -> list[RunDir]:
        """Return the directories of a session's runs, oldest first, wherever they are by now."""
        try:
            found = [noted.now() for noted in self.index.of_session(session_id)]
        except (sqlite3.Error, OSError):
            return []
        return [run_dir for run_dir in found if run_dir.exists()]

    def stop(self, run: RunRecord, *, force: bool) -> RunRecord:
        """
        End a run and return how it stands then.

        RunNotActive if it is over; RunNotListening, RunNotAnswering or RunNotEnded if it runs on.
        """
        refuse_inside_subagent(self.env)
        if not run.active:
            raise RunNotActive(run.run_id, state_of(run).word)
        return self.stopped(self.stopping(directory_of(run), force=force))

    def stopping(self, run_dir: RunDir, *, force: bool) -> Stopping | RemoteStopping:
        """Ask a run to end, and return what waits for that."""
        if not run_dir.desk.is_remote():
            return Stopping(run_dir, force=force)
        from pi_subagents.service.cluster.ordering import RemoteStopping

        return RemoteStopping(self, run_dir, force=force)

    def stopped(self, stopping: Stopping | RemoteStopping) -> RunRecord:
        """Wait for the end of a run that was asked to stop, and return how it stands then."""
        run_dir = stopping.run_dir
        match stopping.finish():
            case Stopped.OVER:
                raise RunNotActive(run_dir.run_id, state_of(self._load(run_dir)).word)
            case Stopped.DEAF:
                raise RunNotListening(run_dir.run_id)
            case Stopped.SILENT:
                raise RunNotAnswering(run_dir.run_id)
            case Stopped.AT_IT:
                raise RunNotEnded(run_dir.run_id, STOP_LIMIT_S)
        if not run_dir.never_began():  # whatever reported its end may still have the lock
            run_dir.desk.wait_for_end(ANSWER_LIMIT_S)
        return self._load(run_dir.now())

    def choose_removals(
        self,
        *,
        days: float | None = None,
        megabytes: float | None = None,
        now_ms: int | None = None,
    ) -> list[Removal]:
        """Return which runs of this project have been kept long enough; a limit of 0 is none."""
        settings, _ = load_settings(self.cwd, self.env)
        limit = settings.retention_megabytes if megabytes is None else megabytes
        return choose_removals(
            (kept_run(run_dir) for run_dir in self._own()),
            now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms,
            max_age_days=settings.retention_days if days is None else days,
            max_bytes=limit * 1024 * 1024,
        )

    def remove(self, removals: Iterable[Removal]) -> list[str]:
        """Remove run directories that are still finished; return the ids of those removed."""
        refuse_inside_subagent(self.env)
        removed = [
            removal.run_id
            for removal in removals
            if remove_finished(self.store.run_dir(removal.run_id))
        ]
        with suppress(sqlite3.Error, OSError):
            self.index.remove(removed)
        return removed

    def keep_tidy(self) -> list[Removal]:
        """Apply the limits by themselves, at most once a day; return what was removed."""
        gone: list[Removal] = []
        with suppress(OSError):  # tidying is never what keeps work from being done
            if self.store.due_for_tidying():
                self.finish_removals()
                self.clear_desks()
                chosen = self._due_removals()
                removed = set(self.remove(chosen))
                gone = [removal for removal in chosen if removal.run_id in removed]
                self.store.withdraw_unmade()
        return gone

    def _due_removals(self) -> list[Removal]:
        """Return what may go without the user's word: for its age by a proven time only."""
        looks = RetentionLooks(data_dir(self.env))
        watch, proven_ms = watched(looks.find(self.store.runs_dir), look_now())
        if not looks.keep(self.store.runs_dir, watch) or proven_ms is None:
            return self.choose_removals(days=0)
        return self.choose_removals(now_ms=proven_ms)

    def interrupted_removals(self) -> int:
        """Return how many removals were begun here and not finished."""
        return len(interrupted_removals(self.store))

    def finish_removals(self) -> int:
        """Finish those; return how many directories are gone now."""
        return finish_removals(self.store)

    def clear_desks(self) -> int:
        """Take away what runs left that were over, or never made; return how many desks it was."""
        try:
            known = {run.run_id for run in self.index.not_ended()}
        except (sqlite3.Error, OSError):
            return 0
        return clear_stale_desks(self.store.data_dir, known)

    def unknown(self) -> list[RunDir]:
        """Return this project's run directories that came from elsewhere: they are left alone."""
        found = self.store.runs()
        self.index.adopt_sealed(found)
        return self.index.unknown(found)

    def reindex(self) -> Reindexed:
        """Adopt what is unknown here, whoever made it, and forget what is gone everywhere."""
        unknown = self.index.unknown(self.store.runs())
        adopted = self.index.adopt(unknown)
        gone = [run.run_id for run in self.index.all() if not run.now().exists()]
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

    def directory_at(self, path: Path) -> RunDir:
        """Return the run that was begun in a directory, where it is by now."""
        return RunDir(path, Desk(self.store.data_dir / DESKS / path.name)).now()

    def _load(self, run_dir: RunDir) -> RunRecord:
        return load_record(run_dir, liveness_of(run_dir))
