"""
Turn checked tasks into planned runs: ids, a directory each, the child's command line.

Everything that can refuse the whole call has happened before; a task that cannot start (its
directory is missing) is planned with its refusal, so that it too has an id and a result.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.invocation import ModelOverride, plan_invocation
from pi_subagents.core.prompt import compose_prompt
from pi_subagents.core.run_spec import RunSpec
from pi_subagents.core.value import replace
from pi_subagents.delegation.ports import PlannedRun
from pi_subagents.disk.attachments import with_files
from pi_subagents.disk.run_dir import META_VERSION, RunDir
from pi_subagents.disk.run_store import RunStore, new_run_id, new_session_id
from pi_subagents.errors import StoreUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.request import DelegateRequest, Task
    from pi_subagents.core.settings import Settings

TASK_PREVIEW = 2000


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all tasks of a call share."""

    cwd: Path
    settings: Settings
    store: RunStore
    pi_command: tuple[str, ...]
    pi_source: str
    pi_version: str | None
    trusted: Callable[[Path], bool]
    seal: Callable[[RunDir], str | None] = lambda _: None
    override: Callable[[str], ModelOverride] | None = None


def plan_runs(request: DelegateRequest, around: Surroundings) -> tuple[PlannedRun, ...]:
    """Plan every task; StoreUnwritable if there is no room to keep a run."""
    around.store.prepare()
    planned: list[PlannedRun] = []
    try:
        for index, task in enumerate(request.tasks):
            planned.append(_plan(index, task, around))
    except StoreUnwritable:  # the whole call is refused: nothing may be left of it
        for run in planned:
            assert run.spec.lock_fd is not None
            RunDir(Path(run.spec.run_dir)).discard(run.spec.lock_fd)
        raise
    return tuple(planned)


def _plan(index: int, task: Task, around: Surroundings) -> PlannedRun:
    run_id = new_run_id()
    cwd = Path(task.cwd) if task.cwd else around.cwd
    run_dir = around.store.run_dir(run_id)
    trusted = around.trusted(cwd)
    invocation = plan_invocation(
        around.pi_command,
        run_id=run_id,
        trusted=trusted,
        override=around.override(run_id) if around.override else None,
    )
    spec = RunSpec(
        run_id=run_id,
        session_id=new_session_id(),
        name=task.name,
        run_dir=str(run_dir.path),
        argv=invocation.argv,
        cwd=str(cwd),
        environment=invocation.environment,
        timeout_s=task.timeout_s,
        extend_debounce_s=around.settings.extend_timeout_debounce,
        extend_max_s=around.settings.extend_timeout_max,
        looping_tool_count=around.settings.looping_tool_count,
        max_run_bytes=int(around.settings.max_run_megabytes * 1024 * 1024),
    )
    try:
        prompt = compose_prompt(with_files(task.prompt, task.files, cwd)).encode("utf-8", "replace")
        lock = run_dir.begin(_meta(spec, task, around, trusted=trusted), prompt)
    except OSError as error:
        raise StoreUnwritable(str(run_dir.path), str(error)) from error
    usable = os.path.isdir(cwd)  # noqa: PTH112 - Path.is_dir() raises where it may not look
    spec = replace(spec, lock_fd=lock)
    return PlannedRun(index, task, spec, "" if usable else messages.cwd_missing(str(cwd)))


def _meta(spec: RunSpec, task: Task, around: Surroundings, *, trusted: bool) -> dict[str, object]:
    return {
        "schemaVersion": META_VERSION,
        "runId": spec.run_id,
        "sessionId": spec.session_id,
        "name": spec.name,
        "task": task.prompt[:TASK_PREVIEW],
        "taskLength": len(task.prompt),
        "cwd": spec.cwd,
        "timeoutS": spec.timeout_s,
        "attached": spec.attached,
        "engine": "pi",
        "pi": {"source": around.pi_source, "version": around.pi_version},
        "argv": list(spec.argv),
        "offline": around.override is not None,
        "trusted": trusted,
        "createdAt": _now_ms(),
        "seal": around.seal(RunDir(Path(spec.run_dir))),
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
