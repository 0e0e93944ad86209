"""
Background runs: start one, list them, wait, stop.

A background run outlives its caller: it is found again through the index, from any directory, by
any process of the same user.  Every look recovers first.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pi_subagents import errors
from pi_subagents.core.definitions.found import PRESET, PROFILE
from pi_subagents.core.task.request import with_budget
from pi_subagents.core.value import replace
from pi_subagents.service import messages
from pi_subagents.service.call import open_call, runs_of
from pi_subagents.service.definitions.choice import ask_first
from pi_subagents.service.foreground import prepare_tasks, runner_for
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.service.plan import plan
from pi_subagents.service.presets import PresetCatalogue, as_request
from pi_subagents.store.completion import announcing, is_announced
from pi_subagents.store.orders import ANSWER_LIMIT_S
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import directory_of, load_record
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from pi_subagents.core.preset.request import PresetTask, StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.service.call import CallContext, Options
    from pi_subagents.service.delegation import Preparation
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

_POLL_S = 0.1
_REMOTE_POLL_S = 0.5
_REMOTE_REPORT_S = 5.0
_STILL_RUNNING = (errors.RunNotListening, errors.RunNotAnswering, errors.RunNotEnded)


async def ask_and_start(task: PresetTask, options: Options) -> RunRecord:
    """Start a run after what has to be asked; pi may have to be asked for its models, too."""
    await ask_first(PRESET, [task.preset], options)
    return await in_own_thread("start", partial(start, task, options))


def start(task: PresetTask, options: Options) -> RunRecord:
    """Start a run that outlives its caller, and return its record."""
    context = open_call(options)
    needs = PresetCatalogue(context).prepare(task, detached=True)
    request = as_request([task], context.settings.background_timeout or None)
    request = with_budget(request, options.get("budget"))
    (run,) = _start(context, request, [needs])
    return run


async def start_request(request: DelegateRequest, options: Options) -> tuple[RunRecord, ...]:
    """Start tasks that outlive their caller, and return their records in task order."""
    if named := [name for task in request.tasks if (name := request.profile_of(task))]:
        await ask_first(PROFILE, named, options)
    return await in_own_thread("start", partial(_start_request, request, options))


def _start_request(request: DelegateRequest, options: Options) -> tuple[RunRecord, ...]:
    context = open_call(options)
    needs = [replace(each, detached=True) for each in prepare_tasks(request, context)]
    limit_s = context.settings.background_timeout or None
    tasks = (replace(task, timeout_s=task.timeout_s or limit_s) for task in request.tasks)
    request = with_budget(replace(request, tasks=tuple(tasks)), options.get("budget"))
    return _start(context, request, needs)


def _start(
    context: CallContext, request: DelegateRequest, needs: Sequence[Preparation]
) -> tuple[RunRecord, ...]:
    context = _with_own_offline_model(context)
    planned = plan(context, request, needs)
    try:
        runner = runner_for(context, planned, unseen=True)  # no window has to be open for it
    except errors.SetupError:
        context.held.discard(run.spec.run_id for run in planned)
        raise
    for run in planned:
        if run.needs.refusal:
            runner.refuse(run.spec, run.needs.refusal, aborted=False)
        else:
            runner.start(run.spec)
    directories = [context.runs.store.run_dir(run.spec.run_id) for run in planned]
    return tuple(load_record(each, liveness_of(each)) for each in directories)


def _with_own_offline_model(context: CallContext) -> CallContext:
    """Let each run serve an offline model of its own, where one is wanted."""
    wanted = context.options.get("offline", False)
    if wanted is False:
        return context
    if wanted is not True:
        raise errors.InvalidRequest("offline", messages.NO_SCRIPT_IN_BACKGROUND)
    context.notice(messages.NOTICE_OFFLINE)
    return replace(
        context, open_engine=cache(lambda name: context.open_engine(name).offline_each())
    )


class BackgroundRuns:
    """The background runs of this user, newest first, or only those a host knows of."""

    def __init__(self, runs: Runs, only: Container[str] | None = None) -> None:
        self._runs = runs
        self._only = only

    def all(self) -> list[RunRecord]:
        """Return every run as it stands."""
        self._runs.recover()
        found = map(read_background, self._directories())
        return [run for run in found if run is not None]

    def find(self, wanted: str) -> RunRecord:
        """Return a run by any of its names, also one that is not in the background."""
        self._directories()  # which says so where nothing can be looked up
        try:
            return self._runs.find(wanted)
        except errors.RunNotFound:
            raise errors.BackgroundRunNotFound(wanted) from None

    def directory(self, run: RunRecord) -> RunDir:
        """Return where a run is kept."""
        return self._runs.directory_at(Path(run.path))

    async def wait(self, request: StatusRequest, stop: StopSwitch) -> list[RunRecord]:
        """Return every run, once the one asked for (or any) ended or asks, or the wait ended."""
        deadline = time.monotonic() + request.wait_s
        asked = self._asked(request.run_id)
        watched = self._directories() if request.run_id is None else asked
        watched = [each for each in watched if each.alive()]
        while watched and time.monotonic() < deadline and not stop.thrown:
            if not all(each.alive() for each in watched) or any(
                each.desk.questions() for each in watched
            ):
                break
            await asyncio.sleep(_POLL_S)
            if any(each.desk.is_remote() for each in watched):
                look = partial(self._runs.refresh, watched, every_s=_REMOTE_POLL_S)
                await in_own_thread("look", look)
        found = self.all()
        if not {each.run_id for each in asked} <= {run.run_id for run in found}:
            found += filter(None, map(read_background, asked))  # it is not in the background
        return found

    def report_ends(self, on_end: Callable[[RunRecord], None], reported: set[str]) -> None:
        """Report ends that nobody has; `reported` holds the runs that need no more looks."""
        known = self._directories()
        self._runs.refresh(known, every_s=_REMOTE_REPORT_S)
        for run_dir in known:
            if run_dir.run_id in reported or run_dir.alive():
                continue
            if is_announced(run_dir) or self._report(run_dir, on_end):
                reported.add(run_dir.run_id)

    def alive(self) -> set[str]:
        """Return the ids of the runs that are alive."""
        return {run_dir.run_id for run_dir in self._directories() if run_dir.alive()}

    async def stop(self, run_id: str | None) -> list[RunRecord]:
        """End one run, or all background ones that are active; return how those stand then."""
        return await in_own_thread("stop", partial(self._stop, run_id))

    def _stop(self, run_id: str | None) -> list[RunRecord]:
        refuse_inside_subagent(self._runs.env)
        if run_id is None:
            chosen = [run for run in self.all() if run.active]
        else:
            chosen = [self.find(run_id)]
            if not chosen[0].active:
                raise errors.RunNotActive(chosen[0].run_id, state_of(chosen[0]).word)
        found = [self._runs.find(run.run_id) for run in chosen]
        active = [run for run in found if run.active]  # the others ended by themselves meanwhile
        # All at once: each may take its time.
        under_way = [(run, self._runs.stopping(directory_of(run), force=False)) for run in active]
        stopped = [run for run in found if not run.active]
        for run, stopping in under_way:
            try:
                stopped.append(self._runs.stopped(stopping))
                if not run.meta.attached:  # its supervisor may be about to notice
                    stopping.run_dir.desk.wait_for_end(ANSWER_LIMIT_S)
            except errors.RunNotActive:  # it ended by itself meanwhile
                stopped.append(self._runs.find(run.run_id))
            except _STILL_RUNNING:
                if run_id is not None:
                    raise
                stopped.append(run)  # it spares no other
        return stopped

    def _report(self, run_dir: RunDir, on_end: Callable[[RunRecord], None]) -> bool:
        with announcing(run_dir) as ours:
            if ours:
                self._runs.recover()
                run = read_background(run_dir)
                if run is not None:
                    on_end(run)
        return ours

    def _asked(self, run_id: str | None) -> list[RunDir]:
        """Return the run that was asked for, unless only a host's log knows it."""
        with suppress(errors.BackgroundRunNotFound):
            return [directory_of(self.find(run_id))] if run_id else []
        return []

    def _directories(self) -> list[RunDir]:
        try:
            noted = self._runs.index.detached()
        except (sqlite3.Error, OSError) as error:
            if not os.path.lexists(self._runs.index.path):  # none was ever started
                return []
            raise errors.IndexUnreadable(str(self._runs.index.path), str(error)) from None
        wanted = (run.now() for run in noted if self._only is None or run.run_id in self._only)
        return [run for run in wanted if run.exists()]


class KnownRuns(Protocol):
    """What the background tools need to know; of two lists the second one is counted."""

    def began(self, run: RunRecord) -> Sequence[RunRecord]:
        """Take a run that was just started, and return those to count."""

    def find(self, run_id: str) -> str:
        """Return the whole id of a run; StoreError if there is none, or more than one."""

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[Sequence[RunRecord], Sequence[RunRecord]]:
        """Return how the runs stand, after waiting for news as long as was asked for."""

    async def stop(self, run_id: str | None) -> tuple[Sequence[RunRecord], Sequence[RunRecord]]:
        """End one run, or all, and return how those stand then."""


class EveryRun:
    """The KnownRuns of a caller without a log of its own: every run on disk."""

    def __init__(self, runs: Runs) -> None:
        self._runs = BackgroundRuns(runs)

    def began(self, run: RunRecord) -> list[RunRecord]:
        """Return what there is to count."""
        with suppress(errors.IndexUnreadable):  # it was started, whatever else is known
            return self._runs.all()
        return [run]

    def find(self, run_id: str) -> str:
        """Return the whole id of a run."""
        return self._runs.find(run_id).run_id

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[list[RunRecord], list[RunRecord]]:
        """Return all of them, and count those in the background."""
        found = await self._runs.wait(request, stop)
        return found, [run for run in found if not run.meta.attached]

    async def stop(self, run_id: str | None) -> tuple[list[RunRecord], list[RunRecord]]:
        """End one, or all, and count all."""
        return await self._runs.stop(run_id), self._runs.all()


def known_runs_of(options: Options) -> KnownRuns:
    """Return the background runs of a caller: its own, or all."""
    return options.get("known_runs") or EveryRun(runs_of(options))


def read_background(run_dir: RunDir) -> RunRecord | None:
    """Return how a run stands; None where it cannot be read."""
    with suppress(errors.RunUnreadable):
        return load_record(run_dir, liveness_of(run_dir))
    return None
