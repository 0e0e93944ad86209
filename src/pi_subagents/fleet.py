"""
The composition root of watching: all runs of a project, or of the machine, as they change.

In: where the caller stands.  Out: rows, replaced as a whole whenever one changed, and a call for
each change.  Only what changed is read: a run that is over is read once, one that goes on is
heard of through its directory, new ones through the store and the index.  Every look recovers, so
that nobody is shown a run as running that is not.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.liveness import Liveness
from pi_subagents.delegation.fleet_rows import LiveRun, ended_row
from pi_subagents.delegation.run_view import view_run
from pi_subagents.disk.config_home import data_dir
from pi_subagents.disk.desk import PLACE
from pi_subagents.disk.file_news import Change, FileNews, News
from pi_subagents.disk.run_dir import TRANSCRIPT
from pi_subagents.disk.run_index import FILE_NAME
from pi_subagents.errors import RunUnreadable
from pi_subagents.procs.recovery import liveness_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pi_subagents.core.fleet import FleetRow
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.runs import Runs

MAX_RUNS = 2000  # beyond these many, only runs that go on are listed
FIRST_BATCH, BATCH = 50, 500  # a screenful at once, the rest with few repaints
PAUSE_S = 0.1  # between two looks: a child that writes a lot is read in larger pieces
# The kernel tells of a dying supervisor's files before it lets go of its lock.
SUSPECT_S, SUSPECT_LOOKS = 0.2, 10
# Whoever answers for a run has these open for writing until it ends; the second is on its desk.
ENDING = ("events.jsonl", "lock")
_INDEX_FILES = (FILE_NAME, f"{FILE_NAME}-wal")


class Fleet:
    """Rows that follow the disk; one thread follows, any may read `rows` or close."""

    def __init__(
        self,
        runs: Runs,
        env: Mapping[str, str] | None = None,
        *,
        machine: bool = False,
        news: FileNews | None = None,
    ) -> None:
        self._runs = runs
        self._machine = machine
        self._data_dir = data_dir(os.environ if env is None else env)
        self._news = news or FileNews()
        self._rows: dict[Path, FleetRow] = {}
        self._live: dict[Path, LiveRun] = {}
        self._desks: dict[Path, Path] = {}  # of those, by the desk
        self._suspects: dict[Path, int] = {}  # may have ended, with how many looks are left
        self._stores: set[Path] = set()
        self._ending = threading.Event()
        self.unreadable: dict[Path, str] = {}
        self.rows: tuple[FleetRow, ...] = ()

    def read_once(self) -> tuple[FleetRow, ...]:
        """Return the rows as they are now, and follow nothing."""
        try:
            self._load(lambda: None)
        finally:
            self._release()
        return self.rows

    def follow(self, on_change: Callable[[], None]) -> None:
        """Read everything, then tell of every change until closed."""
        try:
            self._load(on_change)
            on_change()
            while not self._ending.is_set():
                news = self._news.wait(SUSPECT_S if self._suspects else None)
                if self._ending.is_set():
                    return
                if self._take(news):
                    self._publish()
                    on_change()
                self._ending.wait(PAUSE_S)
        finally:
            self._release()

    def close(self) -> None:
        """Let the thread that follows come to its end."""
        self._ending.set()
        self._news.wake()

    def _load(self, on_change: Callable[[], None]) -> None:
        """Read everything once, telling of some rows before the rest is read."""
        self._runs.recover()
        self._news.watch(self._data_dir)
        self._rescan(on_change)
        self._publish()

    def _take(self, news: News) -> bool:
        """Read what the news is about; tell whether a row or a transcript is different now."""
        before = dict(self._rows)
        news = News(frozenset(map(self._by_run, news.changes)), news.everything)
        gone = {change.directory for change in news.changes if not change.name}
        if news.everything or any(self._is_of_a_store(change) for change in news.changes):
            self._stores -= gone  # one that comes again has to be heard of again
            self._rescan()
        touched = {change.directory for change in news.changes} & self._live.keys()
        for path in set(self._live) if news.everything else touched:
            self._look(path)
        closed = {
            change.directory
            for change in news.changes
            if change.kind == "closed" and change.name in ENDING
        }
        suspected = set(self._live) if news.everything else closed & self._live.keys()
        self._suspects |= dict.fromkeys(suspected, SUSPECT_LOOKS)
        self._look_at_suspects()
        # It is written after the journal, so that it may be all that is new.
        more_said = any(change.name == TRANSCRIPT for change in news.changes)
        return more_said or news.everything or self._rows != before

    def _by_run(self, change: Change) -> Change:
        """Tell of a run what happens on its desk."""
        of = self._desks.get(change.directory)
        return change if of is None else Change(of, change.name or "desk", change.kind)

    def _is_of_a_store(self, change: Change) -> bool:
        if change.name == PLACE and change.directory in self._live:
            return True  # its directory is another now
        if change.directory in self._stores:
            return change.kind == "entry"
        # Reading the index creates and removes its side files; only what is written is news.
        return (
            change.directory == self._data_dir
            and change.kind == "written"
            and change.name in _INDEX_FILES
        )

    def _rescan(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Find out which runs there are now."""
        self._hear_of({self._runs.store.runs_dir})  # before the look: nothing is missed
        found = {run_dir.path: run_dir for run_dir in self._directories()}
        self._hear_of({path.parent for path in found})
        for path in self._rows.keys() - found.keys():
            self._drop(path)
        for path in self.unreadable.keys() - found.keys():
            del self.unreadable[path]
        new = [each for each in found.values() if each.path not in self._rows]
        for number, run_dir in enumerate(new, start=1):
            if run_dir.path not in self.unreadable:
                self._add(run_dir)
            if number == FIRST_BATCH or number % BATCH == 0:
                self._publish()
                on_change()

    def _hear_of(self, stores: set[Path]) -> None:
        for store in stores - self._stores:
            if store.is_dir():
                self._stores.add(store)
                self._news.watch(store)

    def _directories(self) -> Iterable[RunDir]:
        """Return the newest runs, and those that go on."""
        going: set[Path] = set()
        found: list[RunDir] = []
        with suppress(sqlite3.Error, OSError):
            going = {row.run_dir.path for row in self._runs.index.not_ended()}
            if self._machine:
                found = [row.run_dir for row in reversed(self._runs.index.all())]
        if self._machine:
            found = [each for each in found if each.is_there()]
        else:
            with suppress(OSError):
                found = self._runs.here()
        return [
            each for number, each in enumerate(found) if number < MAX_RUNS or each.path in going
        ]

    def _add(self, run_dir: RunDir) -> None:
        try:
            if os.path.lexists(run_dir.result) and not run_dir.alive():
                self._end(run_dir, Liveness.FINISHED)
                return
            self._news.watch(run_dir.path)  # before the first look: nothing is missed
            self._news.watch(run_dir.desk.path)
            self._desks[run_dir.desk.path] = run_dir.path
            liveness = liveness_of(run_dir)
            if liveness is Liveness.ALIVE:
                self._live[run_dir.path] = live = LiveRun(run_dir)
                self._rows[run_dir.path] = live.row()
            else:
                self._end(run_dir, liveness)
        except RunUnreadable as error:
            self._drop(run_dir.path)
            if run_dir.path.is_dir():
                self.unreadable[run_dir.path] = str(error)

    def _look(self, path: Path) -> None:
        """Take what is new of a run that was going on."""
        live = self._live[path]
        self._rows[path] = live.row()
        if os.path.lexists(live.run_dir.result):  # it ends, or somebody wants us to believe so
            self._suspects[path] = SUSPECT_LOOKS

    def _look_at_suspects(self) -> None:
        for path, looks in list(self._suspects.items()):
            if path not in self._live:
                del self._suspects[path]
                continue
            run_dir = self._live[path].run_dir
            liveness = liveness_of(run_dir)
            if liveness is Liveness.LOST:
                self._runs.recover()
                liveness = liveness_of(run_dir)  # alive again, while another concludes it
            if liveness is not Liveness.ALIVE:
                self._conclude(run_dir, liveness)
            elif looks > 1:
                self._suspects[path] = looks - 1
            else:
                del self._suspects[path]

    def _conclude(self, run_dir: RunDir, liveness: Liveness) -> None:
        try:
            self._end(run_dir, liveness)
        except RunUnreadable as error:
            self._drop(run_dir.path)
            self.unreadable[run_dir.path] = str(error)

    def _end(self, run_dir: RunDir, liveness: Liveness) -> None:
        self._rows[run_dir.path] = ended_row(view_run(run_dir, liveness))
        self._let_go(run_dir.path)

    def _drop(self, path: Path) -> None:
        self._rows.pop(path, None)
        self._let_go(path)

    def _let_go(self, path: Path) -> None:
        self._news.forget(path)
        for desk in [desk for desk, of in self._desks.items() if of == path]:
            self._news.forget(desk)
            del self._desks[desk]
        self._suspects.pop(path, None)
        if (live := self._live.pop(path, None)) is not None:
            live.close()

    def _publish(self) -> None:
        self.rows = tuple(self._rows.values())

    def _release(self) -> None:
        for path in list(self._live):
            self._let_go(path)
        self._news.close()
