"""
Background runs: start one, tell of them, wait, stop.

A background run belongs to nobody: it is found again through the index, from any directory, by
any process of the same user.  Every look recovers first.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import errors
from pi_subagents.core.definitions.project_choice import PRESET
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.service import call as launch
from pi_subagents.service import messages
from pi_subagents.service.definitions.questions import ask_first
from pi_subagents.service.presets import PresetCatalogue, as_request
from pi_subagents.store.notices import is_told, turn_to_tell
from pi_subagents.store.orders import ANSWER_LIMIT_S
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import directory_of, load_record
from pi_subagents.store.stopping import Stopping
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.view.background import (
    RUN_ENTRY,
    UPDATE_ENTRY,
    background_status,
    rebuild,
    run_entry,
    update_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from pi_subagents.core.preset.request import PresetTask, StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.call import Options
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

LogEntry = dict[str, object]
_POLL_S = 0.1
_GOES_ON = (errors.RunNotListening, errors.RunNotAnswering, errors.RunNotEnded)


async def ask_and_start(task: PresetTask, options: Options) -> RunRecord:
    """Start a run after what has to be asked; pi may have to be asked for its models, too."""
    await ask_first(PRESET, [task.preset], options)
    return await in_own_thread("start", partial(start, task, options))


def start(task: PresetTask, options: Options) -> RunRecord:
    """Start a run that nobody has to wait for, and return how it stands."""
    context = launch.open_call(options)
    needs = PresetCatalogue(context).prepare(task, detached=True)
    request = as_request([task], context.settings.background_timeout or None)
    context = launch.with_own_offline_model(context)
    (run,) = launch.plan(context, request, [needs])
    launch.start(context, run)
    run_dir = context.runs.store.run_dir(run.spec.run_id)
    return load_record(run_dir, liveness_of(run_dir))


class BackgroundRuns:
    """The background runs of this user, newest first, or only those a host knows of."""

    def __init__(self, runs: Runs, only: Container[str] | None = None) -> None:
        self._runs = runs
        self._only = only

    def all(self) -> list[RunRecord]:
        """Return every run as it stands."""
        self._runs.recover()
        found = map(_read, self._directories())
        return [run for run in found if run is not None]

    def find(self, run_id: str) -> RunRecord:
        """Return the run of that id, or of the one that begins so; StoreError if there is none."""
        found = [run for run in self.all() if run.run_id.startswith(run_id)] if run_id else []
        if not found:
            raise errors.BackgroundRunNotFound(run_id)
        if len(found) > 1:
            raise errors.RunAmbiguous(run_id, tuple(sorted(run.run_id for run in found)))
        return found[0]

    def directory(self, run: RunRecord) -> RunDir:
        """Return where a run is kept."""
        return self._runs.directory_at(Path(run.path))

    async def wait(self, request: StatusRequest, stop: StopSwitch) -> list[RunRecord]:
        """
        Return every run, once the one asked for (or else any active one) ended.

        Or when the time is up, or the switch is thrown.
        """
        deadline = time.monotonic() + request.wait_s
        watched = self._watched(request.run_id)
        while watched and time.monotonic() < deadline and not stop.thrown:
            if not all(each.alive() for each in watched):
                break
            await asyncio.sleep(_POLL_S)
        return self.all()

    async def watch(self, on_end: Callable[[RunRecord], None]) -> None:
        """Tell of every end that nobody has told of, by one watcher only, until cancelled."""
        told: set[str] = set()
        while True:
            self.tell_ends(on_end, told)
            await asyncio.sleep(_POLL_S)

    def tell_ends(self, on_end: Callable[[RunRecord], None], told: set[str]) -> None:
        """Tell of the ends whose turn is ours; `told` holds the runs that need no more looks."""
        for run_dir in self._directories():
            if run_dir.run_id in told or run_dir.alive():
                continue
            if is_told(run_dir) or self._tell(run_dir, on_end):
                told.add(run_dir.run_id)

    def alive(self) -> set[str]:
        """Return the ids of the runs that somebody answers for."""
        return {run_dir.run_id for run_dir in self._directories() if run_dir.alive()}

    async def stop(self, run_id: str | None) -> list[RunRecord]:
        """End one run, or all background ones that are active; return how those stand then."""
        return await in_own_thread("stop", partial(self._stop, run_id))

    def _stop(self, run_id: str | None) -> list[RunRecord]:
        if run_id is None:
            chosen = [run for run in self.all() if run.active]
        else:
            chosen = [self._find_any(run_id)]
            if not chosen[0].active:
                raise errors.RunNotActive(chosen[0].run_id, background_status(chosen[0]))
        found = [self._runs.find(run.run_id) for run in chosen]
        active = [run for run in found if run.active]  # the others ended by themselves meanwhile
        # All at once: each may take its time.
        under_way = [(run, Stopping(directory_of(run), force=False)) for run in active]
        stopped = [run for run in found if not run.active]
        for run, stopping in under_way:
            try:
                stopped.append(self._runs.stopped(stopping))
                if not run.meta.attached:  # its supervisor may be about to notice
                    stopping.run_dir.desk.wait_for_end(ANSWER_LIMIT_S)
            except errors.RunNotActive:  # it ended by itself meanwhile
                stopped.append(self._runs.find(run.run_id))
            except _GOES_ON:
                if run_id is not None:
                    raise
                stopped.append(run)  # it spares no other
        return stopped

    def _find_any(self, any_id: str) -> RunRecord:
        """Return a run by its id or its session's, also one that outlived a host's call."""
        try:
            return self.find(any_id)
        except errors.BackgroundRunNotFound:
            with suppress(errors.RunNotFound, sqlite3.Error, OSError):
                runs = self._runs.index.of_session(any_id)
                wanted = [run for run in runs if run.alive()] or runs
                return self._runs.find(wanted[-1].run_id if wanted else any_id)
            raise

    def _tell(self, run_dir: RunDir, on_end: Callable[[RunRecord], None]) -> bool:
        with turn_to_tell(run_dir) as ours:
            if ours:
                self._runs.recover()
                run = _read(run_dir)
                if run is not None:
                    on_end(run)
        return ours

    def _watched(self, run_id: str | None) -> list[RunDir]:
        alive = [run_dir for run_dir in self._directories() if run_dir.alive()]
        return [each for each in alive if run_id is None or each.run_id == run_id]

    def _directories(self) -> list[RunDir]:
        try:
            noted = self._runs.index.detached()
        except (sqlite3.Error, OSError) as error:
            if not os.path.lexists(self._runs.index.path):  # none was ever started
                return []
            raise errors.IndexUnreadable(str(self._runs.index.path), str(error)) from None
        wanted = (run.now() for run in noted if self._only is None or run.run_id in self._only)
        return [run for run in wanted if run.is_there()]


class Registry:
    """The background runs of one host's session: those its log tells of, as they are on disk."""

    def __init__(self, runs: Runs, entries: Iterable[object] = ()) -> None:
        self._known = rebuild(entries)
        self._runs = runs
        self._disk = BackgroundRuns(runs, self._known)

    def all(self) -> list[RunRecord]:
        """Return every run as it stood at the last look, in the order of their start."""
        return list(self._known.values())

    def add(self, run: RunRecord) -> LogEntry:
        """Take a run that was just started, and return what to append to the log."""
        self._known[run.run_id] = run
        return {"customType": RUN_ENTRY, "data": run_entry(run)}

    def refresh(self) -> list[LogEntry]:
        """Look how the runs stand; return what to append to the log: an entry for each new end."""
        found = {run.run_id: run for run in self._disk.all()}
        news: list[LogEntry] = []
        for run_id, before in self._known.items():
            run = self._known[run_id] = found.get(run_id) or self._by_its_directory(before)
            if before.active and not run.active:
                news.append({"customType": UPDATE_ENTRY, "data": update_entry(run)})
        return news

    def _by_its_directory(self, run: RunRecord) -> RunRecord:
        """Return how a run stands that the index does not know: over, if its directory is gone."""
        if not run.active:
            return run
        run_dir = self._runs.directory_at(Path(run.path))
        if run_dir.is_there():
            return _read(run_dir) or run
        gone = RunResult(
            run.run_id,
            run.session_id,
            run.name,
            "failed",
            error_message=messages.RUN_DIRECTORY_GONE,
            usage=run.usage,
            duration_ms=run.duration_ms,
        )
        return replace(run, result=gone)

    async def watch(
        self, append: Callable[[LogEntry], None], tell: Callable[[RunRecord], None]
    ) -> None:
        """Append each new end to the log, tell of it if nobody has, until cancelled."""
        told: set[str] = set()
        while True:
            self.look(append, tell, told)
            await asyncio.sleep(_POLL_S)

    def look(
        self,
        append: Callable[[LogEntry], None],
        tell: Callable[[RunRecord], None],
        told: set[str],
    ) -> bool:
        """Do so once; `told` holds the runs that need no more looks.  Tell whether any goes on."""
        alive = self._disk.alive()
        if any(run.active and run.run_id not in alive for run in self._known.values()):
            for entry in self.refresh():
                append(entry)
        self._disk.tell_ends(tell, told)
        return any(run.active for run in self._known.values())


def _read(run_dir: RunDir) -> RunRecord | None:
    with suppress(errors.RunUnreadable):
        return load_record(run_dir, liveness_of(run_dir))
    return None
