"""
Watch runs: all of a project, or of the machine, as they change.

In: the caller's runs.  Out: rows, replaced as a whole whenever one changed, and a call for
each change.  Only what changed is read: a run that is over is read once, one that goes on as far
as its journal has grown, and new ones are looked for when a store or the index is different.  Every
look recovers, so that nobody is shown a run as running that is not.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.run.record import Liveness
from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.store.desk import QUESTIONS
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_index import FILE_NAME
from pi_subagents.store.run_records import load_record, planned_record, what_it_waits_for
from pi_subagents.store.tails import JournalTail
from pi_subagents.system.file_stamps import FileStamps
from pi_subagents.system.home import data_dir
from pi_subagents.view.failure import retry_line
from pi_subagents.view.fleet import cut, last_line_of, light

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pi_subagents.core.run.record import RunProgress, RunRecord
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

MAX_RUNS = 5000  # beyond these many, only runs that go on are listed
FIRST_BATCH, BATCH = 50, 500  # a screenful at once, the rest with few repaints
REMOTE_POLL_S = 1.0  # between two looks at a cluster
POLL_S = 0.09  # between two looks: what happens is shown within a tenth of a second
_INDEX_FILES = (FILE_NAME, f"{FILE_NAME}-wal")


class LiveRun:
    """An active run, and how far its journal was read; RunUnreadable where there is none."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        # What changes with it.
        waits = run_dir.desk.path / QUESTIONS
        self.files = (run_dir.meta, run_dir.events, run_dir.transcript, waits)
        self._record = light(planned_record(run_dir))
        self._tail = JournalTail(run_dir)
        self._words = ProgressFormatter()

    def record(self) -> RunRecord:
        """Read what was added, and return how the run stands."""
        progress = self._record.progress
        with suppress(OSError):  # as far as it goes
            for entry in self._tail.new_entries():
                progress = self._after(progress, entry.event)
        waiting_for = what_it_waits_for(self.run_dir)
        self._record = replace(self._record, progress=progress, waiting_for=waiting_for)
        if not self._record.meta.started_at_ms:
            with suppress(RunUnreadable):
                known = light(planned_record(self.run_dir))
                self._record = replace(known, progress=progress, waiting_for=waiting_for)
        return self._record

    def close(self) -> None:
        """Release the journal."""
        self._tail.close()

    def _after(self, progress: RunProgress, event: ev.Event) -> RunProgress:
        match event:
            case ev.StateChanged(state):
                progress = replace(progress, state=state)
            case ev.AssistantMessage():
                model = cut(event.model) or progress.model
                progress = replace(progress, usage=progress.usage + event.usage, model=model)
        said = retry_line(event) if isinstance(event, ev.Retrying) else self._words.text(event)
        line = last_line_of(said)
        return replace(progress, last_line=line) if line else progress


class Fleet:
    """Rows that follow the disk; one thread follows, any may read `rows` or close."""

    def __init__(
        self,
        runs: Runs,
        env: Mapping[str, str] | None = None,
        *,
        machine: bool = False,
    ) -> None:
        self._runs = runs
        self._machine = machine
        data = data_dir(os.environ if env is None else env)
        self._index_files = tuple(data / name for name in _INDEX_FILES)
        self._stamps = FileStamps()
        self._rows: dict[Path, RunRecord] = {}
        self._live: dict[Path, LiveRun] = {}
        self._stores: set[Path] = set()
        self._ending = threading.Event()
        self.unreadable: dict[Path, str] = {}
        self.rows: tuple[RunRecord, ...] = ()

    @property
    def project(self) -> str:
        """The name of the project whose runs these are; nothing for those of the machine."""
        return "" if self._machine else self._runs.project.name

    def read_once(self) -> tuple[RunRecord, ...]:
        """Return the rows as they are now, and follow nothing."""
        try:
            self.load()
        finally:
            self.release()
        return self.rows

    def follow(self, on_change: Callable[[], None]) -> None:
        """Read everything, then report every change until closed."""
        try:
            self.load(on_change)
            on_change()
            while not self._ending.wait(POLL_S):
                if self.look():
                    on_change()
        finally:
            self.release()

    def close(self) -> None:
        """End the thread that follows."""
        self._ending.set()

    def load(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Read everything once, reporting some rows before the rest is read."""
        self._runs.recover()
        self._rescan(on_change)
        self._publish()

    def look(self) -> bool:
        """Read what changed since the last look; return whether a row or a transcript did."""
        self._runs.refresh((live.run_dir for live in self._live.values()), every_s=REMOTE_POLL_S)
        of_runs = {file: path for path, live in self._live.items() for file in live.files}
        changed = self._stamps.changed((*self._index_files, *self._stores, *of_runs))
        silent = [path for path, live in self._live.items() if not live.run_dir.alive()]
        if not changed and not silent:
            return False
        before = dict(self._rows)
        if changed - of_runs.keys():
            self._rescan()
        for path in {of_runs[file] for file in changed & of_runs.keys()} & self._live.keys():
            self._rows[path] = self._live[path].record()
        for path in silent:
            self._conclude(path)
        # A line of either may be all that is new: rows show little of what was said.
        more_said = any(
            not changed.isdisjoint((live.run_dir.events, live.run_dir.transcript))
            for live in self._live.values()
        )
        if self._rows != before:
            self._publish()
        return more_said or self._rows != before

    def _rescan(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Find out which runs there are now."""
        found = {run_dir.path: run_dir for run_dir in self._directories()}
        self._stores = {self._runs.store.runs_dir, *(path.parent for path in found)}
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

    def _directories(self) -> Iterable[RunDir]:
        """Return the newest runs, and those that go on."""
        going: set[Path] = set()
        found: list[RunDir] = []
        with suppress(sqlite3.Error, OSError):
            going = {run.now().path for run in self._runs.index.not_ended()}
            if self._machine:
                found = [run.now() for run in reversed(self._runs.index.all())]
        if self._machine:
            found = [each for each in found if each.exists()]
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
            liveness = liveness_of(run_dir)
            if liveness is Liveness.ALIVE:
                self._live[run_dir.path] = live = LiveRun(run_dir)
                self._rows[run_dir.path] = live.record()
            else:
                self._end(run_dir, liveness)
        except RunUnreadable as error:
            self._drop(run_dir.path)
            if run_dir.path.is_dir():
                self.unreadable[run_dir.path] = str(error)

    def _conclude(self, path: Path) -> None:
        """Take the end of a run that nobody answers for any more."""
        if path not in self._live:
            return
        run_dir = self._live[path].run_dir
        liveness = liveness_of(run_dir)
        if liveness is Liveness.LOST:
            self._runs.recover()
            liveness = liveness_of(run_dir)  # alive again, while another concludes it
        if liveness is Liveness.ALIVE:
            return
        try:
            self._end(run_dir, liveness)
        except RunUnreadable as error:
            self._drop(path)
            self.unreadable[path] = str(error)

    def _end(self, run_dir: RunDir, liveness: Liveness) -> None:
        self._rows[run_dir.path] = light(load_record(run_dir, liveness))
        self._release(run_dir.path)

    def _drop(self, path: Path) -> None:
        self._rows.pop(path, None)
        self._release(path)

    def _release(self, path: Path) -> None:
        if (live := self._live.pop(path, None)) is not None:
            live.close()

    def _publish(self) -> None:
        self.rows = tuple(self._rows.values())

    def release(self) -> None:
        """Release every file."""
        for path in list(self._live):
            self._release(path)
