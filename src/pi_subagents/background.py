"""
The composition root of background runs: start one, tell of them, wait, stop.

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

from pi_subagents import errors, launch, messages
from pi_subagents.core.background import (
    RUN_ENTRY,
    UPDATE_ENTRY,
    BackgroundRun,
    background_status,
    rebuild,
    run_entry,
    update_entry,
)
from pi_subagents.core.project_definitions import PRESET
from pi_subagents.core.value import replace
from pi_subagents.definition_questions import ask_first
from pi_subagents.delegation.run_view import RunView, view_run
from pi_subagents.disk.orders import ANSWER_LIMIT_S
from pi_subagents.presets import PresetShelf, as_request
from pi_subagents.procs.detached_runner import start_detached
from pi_subagents.procs.notices import is_told, turn_to_tell
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.procs.process_runner import ProcessRunner
from pi_subagents.procs.recovery import liveness_of
from pi_subagents.procs.stopping import Stopping

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from pi_subagents.core.preset_request import PresetTask, StatusRequest
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.launch import Options
    from pi_subagents.runs import Runs

Entry = dict[str, object]
_POLL_S = 0.1
_GOES_ON = (errors.RunNotListening, errors.RunNotAnswering, errors.RunNotEnded)


async def ask_and_start(task: PresetTask, options: Options) -> BackgroundRun:
    """Start a run after what has to be asked; pi may have to be asked for its models, too."""
    await ask_first(PRESET, [task.preset], options)
    return await in_own_thread("start", partial(start, task, options))


def start(task: PresetTask, options: Options) -> BackgroundRun:
    """Start a run that nobody has to wait for, and return how it stands."""
    ground = launch.stand(options)
    needs = PresetShelf(ground).prepare(task, detached=True)
    request = as_request([task], ground.settings.background_timeout or None)
    override = launch.own_offline_model(ground)
    (run,) = launch.plan(ground, request, [needs], override)
    if run.refusal:
        ProcessRunner(ground.env).refuse(run.spec, run.refusal, aborted=False)
    else:
        try:
            start_detached(run.spec, ground.env)
        except OSError as error:
            ProcessRunner(ground.env).refuse(
                run.spec, messages.SPAWN_FAILED, aborted=False, note=str(error)
            )
    run_dir = ground.runs.store.run_dir(run.spec.run_id)
    return _row(view_run(run_dir, liveness_of(run_dir)))


class BackgroundRuns:
    """The background runs of this user, newest first, or only those a host knows of."""

    def __init__(self, runs: Runs, only: Container[str] | None = None) -> None:
        self._runs = runs
        self._only = only

    def all(self) -> list[BackgroundRun]:
        """Return every run as it stands."""
        self._runs.recover()
        rows = map(_read, self._directories())
        return [row for row in rows if row is not None]

    def find(self, run_id: str) -> BackgroundRun:
        """Return the run of that id, or of the one that begins so; StoreError if there is none."""
        found = [run for run in self.all() if run.run_id.startswith(run_id)] if run_id else []
        if not found:
            raise errors.BackgroundRunNotFound(run_id)
        if len(found) > 1:
            raise errors.RunAmbiguous(run_id, tuple(sorted(run.run_id for run in found)))
        return found[0]

    def directory(self, run: BackgroundRun) -> RunDir:
        """Return where a run is kept."""
        return self._runs.directory_at(Path(run.paths["runDir"]))

    async def wait(self, request: StatusRequest, stop: StopSwitch) -> list[BackgroundRun]:
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

    async def watch(self, on_end: Callable[[BackgroundRun], None]) -> None:
        """Tell of every end that nobody has told of, by one watcher only, until cancelled."""
        told: set[str] = set()
        while True:
            self.tell_ends(on_end, told)
            await asyncio.sleep(_POLL_S)

    def tell_ends(self, on_end: Callable[[BackgroundRun], None], told: set[str]) -> None:
        """Tell of the ends whose turn is ours; `told` holds the runs that need no more looks."""
        for run_dir in self._directories():
            if run_dir.run_id in told or run_dir.alive():
                continue
            if is_told(run_dir) or self._tell(run_dir, on_end):
                told.add(run_dir.run_id)

    def alive(self) -> set[str]:
        """Return the ids of the runs that somebody answers for."""
        return {run_dir.run_id for run_dir in self._directories() if run_dir.alive()}

    def stop(self, run_id: str | None) -> list[BackgroundRun]:
        """End one run, or all background ones that are active; return how those stand then."""
        if run_id is None:
            chosen = [run for run in self.all() if not run.ended]
        else:
            chosen = [self._find_any(run_id)]
            if chosen[0].ended:
                raise errors.RunNotActive(chosen[0].run_id, chosen[0].status)
        views = [self._runs.find(run.run_id) for run in chosen]
        active = [view for view in views if view.active]  # the others ended by themselves meanwhile
        # All at once: each may take its time.
        under_way = [(view, Stopping(view.run_dir, force=False)) for view in active]
        rows = [_row(view) for view in views if not view.active]
        for view, stopping in under_way:
            try:
                rows.append(_row(self._runs.stopped(view, stopping)))
                if view.meta.get("attached") is False:  # its supervisor may be about to notice
                    view.run_dir.desk.wait_for_end(ANSWER_LIMIT_S)
            except errors.RunNotActive:  # it ended by itself meanwhile
                rows.append(_row(self._runs.find(view.run_dir.run_id)))
            except _GOES_ON:
                if run_id is not None:
                    raise
                rows.append(_row(view))  # it spares no other
        return rows

    def _find_any(self, any_id: str) -> BackgroundRun:
        """Return a run by its id or its session's, also one that outlived a host's call."""
        try:
            return self.find(any_id)
        except errors.BackgroundRunNotFound:
            with suppress(errors.RunNotFound, sqlite3.Error, OSError):
                rows = self._runs.index.of_session(any_id)
                wanted = [row for row in rows if row.run_dir.alive()] or rows
                return _row(self._runs.find(wanted[-1].run_id if wanted else any_id))
            raise

    def _tell(self, run_dir: RunDir, on_end: Callable[[BackgroundRun], None]) -> bool:
        with turn_to_tell(run_dir) as ours:
            if ours:
                self._runs.recover()
                row = _read(run_dir)
                if row is not None:
                    on_end(row)
        return ours

    def _watched(self, run_id: str | None) -> list[RunDir]:
        alive = [run_dir for run_dir in self._directories() if run_dir.alive()]
        return [each for each in alive if run_id is None or each.run_id == run_id]

    def _directories(self) -> list[RunDir]:
        try:
            rows = self._runs.index.detached()
        except (sqlite3.Error, OSError) as error:
            if not os.path.lexists(self._runs.index.path):  # none was ever started
                return []
            raise errors.IndexUnreadable(str(self._runs.index.path), str(error)) from None
        wanted = (row for row in rows if self._only is None or row.run_id in self._only)
        return [row.run_dir for row in wanted if row.run_dir.is_there()]


class Registry:
    """The background runs of one host's session: those its log tells of, as they are on disk."""

    def __init__(self, runs: Runs, entries: Iterable[object] = ()) -> None:
        self._known = rebuild(entries)
        self._runs = runs
        self._disk = BackgroundRuns(runs, self._known)

    def all(self) -> list[BackgroundRun]:
        """Return every run as it stood at the last look, in the order of their start."""
        return list(self._known.values())

    def add(self, run: BackgroundRun) -> Entry:
        """Take a run that was just started, and return what to append to the log."""
        self._known[run.run_id] = run
        return {"customType": RUN_ENTRY, "data": run_entry(run)}

    def refresh(self) -> list[Entry]:
        """Look how the runs stand; return what to append to the log: an entry for each new end."""
        found = {run.run_id: run for run in self._disk.all()}
        news: list[Entry] = []
        for run_id, before in self._known.items():
            run = self._known[run_id] = found.get(run_id) or self._by_its_directory(before)
            if run.ended and not before.ended:
                news.append({"customType": UPDATE_ENTRY, "data": update_entry(run)})
        return news

    def _by_its_directory(self, run: BackgroundRun) -> BackgroundRun:
        """Return how a run stands that the index does not know: over, if its directory is gone."""
        if run.ended:
            return run
        run_dir = self._runs.directory_at(Path(run.paths.get("runDir", "")))
        if run_dir.is_there():
            return _read(run_dir) or run
        return replace(run, status="failed", error_message=messages.RUN_DIRECTORY_GONE)

    async def watch(
        self, append: Callable[[Entry], None], tell: Callable[[BackgroundRun], None]
    ) -> None:
        """Append each new end to the log, tell of it if nobody has, until cancelled."""
        told: set[str] = set()
        while True:
            self.look(append, tell, told)
            await asyncio.sleep(_POLL_S)

    def look(
        self,
        append: Callable[[Entry], None],
        tell: Callable[[BackgroundRun], None],
        told: set[str],
    ) -> bool:
        """Do so once; `told` holds the runs that need no more looks.  Tell whether any goes on."""
        alive = self._disk.alive()
        if any(not run.ended and run.run_id not in alive for run in self._known.values()):
            for entry in self.refresh():
                append(entry)
        self._disk.tell_ends(tell, told)
        return any(not run.ended for run in self._known.values())


def _read(run_dir: RunDir) -> BackgroundRun | None:
    with suppress(errors.RunUnreadable):
        return _row(view_run(run_dir, liveness_of(run_dir)))
    return None


def _row(view: RunView) -> BackgroundRun:
    run_dir, result, started = view.run_dir, view.result, view.meta.get("startedAt")
    row = BackgroundRun(
        run_id=run_dir.run_id,
        session_id=view.text("sessionId"),
        preset=view.text("preset"),
        task=view.text("task"),
        cwd=view.text("cwd"),
        requested_model=view.text("requestedModel") or None,
        resolved_model=view.text("resolvedModel") or None,
        created_at_ms=view.created_at_ms,
        paths=_paths(run_dir),
        started_at_ms=started if isinstance(started, int) else None,
        status=background_status(view.status),
        duration_ms=view.duration_ms,
        error_message=view.error_message,
        usage=view.usage,
    )
    if result is None:
        return row
    return replace(
        row,
        finished_at_ms=result.finished_at_ms,
        output=result.output,
        exit_code=result.exit_code,
        stop_reason=result.stop_reason,
        notes=result.notes,
    )


def _paths(run_dir: RunDir) -> dict[str, str]:
    """Return where the artifacts of a run are, whether they are there yet or not."""
    return {
        "runDir": str(run_dir.path),
        "meta": str(run_dir.meta),
        "events": str(run_dir.events),
        "result": str(run_dir.result),
        "stdout": str(run_dir.stdout),
        "stderr": str(run_dir.stderr),
        "transcript": str(run_dir.transcript),
        "childSession": str(run_dir.child_session),
        "systemPrompt": str(run_dir.system_prompt),
    }
