"""
The composition root of background runs: start one, tell of them, wait, stop.

A background run belongs to nobody: it is found again through the index, from any directory, by
any process of the same user.  Every look recovers first.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pi_subagents import errors, launch, messages
from pi_subagents.core.background import BackgroundRun, background_status
from pi_subagents.core.liveness import Liveness
from pi_subagents.delegation.run_view import RunView, view_run
from pi_subagents.presets import PresetShelf, as_request
from pi_subagents.procs.detached_runner import start_detached
from pi_subagents.procs.notices import claim_notice, notice_done
from pi_subagents.procs.process_runner import ProcessRunner
from pi_subagents.procs.recovery import liveness_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pi_subagents.core.preset_request import PresetTask, StatusRequest
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.launch import Options
    from pi_subagents.runs import Runs

_POLL_S = 0.1


def start(task: PresetTask, options: Options) -> BackgroundRun:
    """Start a run that nobody has to wait for, and return how it stands."""
    ground = launch.stand(options)
    needs = PresetShelf(ground).prepare(task, detached=True)
    request = as_request([task], ground.settings.background_timeout)
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
    return _row(view_run(ground.runs.store.run_dir(run.spec.run_id), Liveness.ALIVE))


class BackgroundRuns:
    """The background runs of this user, newest first, or only those a host knows of."""

    def __init__(self, runs: Runs, only: Iterable[str] | None = None) -> None:
        self._runs = runs
        self._only = None if only is None else frozenset(only)

    def all(self) -> list[BackgroundRun]:
        """Return every run as it stands."""
        self._runs.recover()
        rows = []
        for run_dir in self._directories():
            with suppress(errors.RunUnreadable):
                rows.append(_row(view_run(run_dir, liveness_of(run_dir))))
        return rows

    async def wait(self, request: StatusRequest) -> list[BackgroundRun]:
        """Return every run, once the one asked for (or else any active one) ended, or in time."""
        deadline = time.monotonic() + request.wait_s
        watched = self._watched(request.run_id)
        while watched and time.monotonic() < deadline:
            if any(liveness_of(each) is not Liveness.ALIVE for each in watched):
                break
            await asyncio.sleep(_POLL_S)
        return self.all()

    async def watch(self, on_end: Callable[[BackgroundRun], None]) -> None:
        """Tell of every end from now on, each by one watcher only, until cancelled: one loop."""
        told: set[str] = set()
        while True:
            for run_dir in self._directories():
                if run_dir.run_id in told or liveness_of(run_dir) is Liveness.ALIVE:
                    continue
                told.add(run_dir.run_id)
                if claim_notice(run_dir):
                    on_end(self.find(run_dir.run_id))
                    notice_done(run_dir)
            await asyncio.sleep(_POLL_S)

    def stop(self, run_id: str | None) -> list[BackgroundRun]:
        """End one run, or all that are active; return how those stand then."""
        chosen = [self.find(run_id)] if run_id else [run for run in self.all() if not run.ended]
        views = [self._runs.find(run.run_id) for run in chosen]
        for view in views:
            view.run_dir.send("stop")  # all at once: each may take its time
        return [_row(self._stopped(view)) for view in views]

    def find(self, run_id: str) -> BackgroundRun:
        """Return the run of that id, or of one that begins so; BackgroundRunNotFound if none."""
        found = [run for run in self.all() if run.run_id.startswith(run_id)] if run_id else []
        if len(found) != 1:
            raise errors.BackgroundRunNotFound(run_id)
        return found[0]

    def _stopped(self, view: RunView) -> RunView:
        with suppress(errors.RunNotActive):
            return self._runs.stop(view, force=False)
        return self._runs.find(view.run_dir.run_id)

    def _watched(self, run_id: str | None) -> list[RunDir]:
        alive = [d for d in self._directories() if liveness_of(d) is Liveness.ALIVE]
        return [d for d in alive if run_id is None or d.run_id == run_id]

    def _directories(self) -> list[RunDir]:
        try:
            rows = self._runs.index.detached()
        except (sqlite3.Error, OSError):
            return []
        wanted = (row for row in rows if self._only is None or row.run_id in self._only)
        return [row.run_dir for row in wanted if row.run_dir.path.is_dir()]


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
