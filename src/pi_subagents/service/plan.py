"""
Turn checked tasks into planned runs: ids, a directory each, the child's command line.

Everything that can refuse the whole call has happened before; a task that cannot start (its
directory is missing) is planned with its refusal, so that it too has an id and a result.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.attachments import read_files
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run.files import APPEND_PROMPT, PROMPT, SYSTEM_PROMPT, TASK
from pi_subagents.core.run.spec import (
    ReuseOrder,
    RunLimits,
    RunSpec,
)
from pi_subagents.core.task.attachment import format_blocks
from pi_subagents.core.task.resume import resume_prompt
from pi_subagents.core.value import replace, value
from pi_subagents.engines.base import ChildRequest
from pi_subagents.errors import StoreUnwritable
from pi_subagents.service import messages
from pi_subagents.service.planned_task import PlannedTask
from pi_subagents.service.preparation import Preparation, PresetUse
from pi_subagents.store.run_dir import META_VERSION
from pi_subagents.store.run_store import new_run_id, new_session_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pi_subagents.core.settings import Settings
    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.store.held_runs import HeldRuns
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.store.run_store import RunStore

TASK_PREVIEW = 2000


@value
class PlanContext:
    """What all tasks of a call share."""

    cwd: Path
    settings: Settings
    store: RunStore
    held: HeldRuns  # where the directories of the runs are made, and their locks held
    engine: EngineCall
    trusted: Callable[[Path], bool]
    seal: Callable[[RunDir], str | None] = lambda _: None


def plan_runs(
    request: DelegateRequest,
    context: PlanContext,
    preparations: Sequence[Preparation] | None = None,
) -> tuple[PlannedTask, ...]:
    """Plan every task; StoreUnwritable if there is no room to keep a run."""
    context.store.prepare()
    prepared = preparations or [Preparation()] * len(request.tasks)
    planned: list[PlannedTask] = []
    try:
        for index, (task, needs) in enumerate(zip(request.tasks, prepared, strict=True)):
            asked = replace(task, profile=request.profile_of(task))
            planned.append(_plan(index, asked, needs, context))
    except StoreUnwritable:  # the whole call is refused: nothing may be left of it
        context.held.discard(run.spec.run_id for run in planned)
        raise
    return tuple(planned)


def prewarm_spec(task: Task, needs: Preparation, context: PlanContext) -> RunSpec | None:
    """
    Return what starts a child for a task before its run is planned.

    None where the child would be of no use to another run, or reads files of its own run.
    """
    profile = needs.profile
    if needs.refusal or (profile and (profile.system_prompt or profile.append_system_prompt)):
        return None
    spec, _ = _spec(task, needs, context.store.run_dir(new_run_id()), {}, context)
    return spec if spec.reuse.kind else None


def _plan(index: int, task: Task, needs: Preparation, context: PlanContext) -> PlannedTask:
    cwd = _cwd(task, context)
    run_dir = context.store.run_dir(new_run_id())
    texts = _texts(task, needs, cwd, context)
    spec, tool_count = _spec(task, needs, run_dir, texts, context)
    try:
        meta = _meta(spec, task, needs, run_dir, context)
        context.held.begin(run_dir, meta, texts.pop(PROMPT), texts)
    except OSError as error:
        raise StoreUnwritable(str(run_dir.path), str(error)) from error
    usable = os.path.isdir(cwd)  # noqa: PTH112 - Path.is_dir() raises where it may not look
    if not (usable or needs.refusal):
        needs = replace(needs, refusal=messages.cwd_missing(str(cwd)))
    return PlannedTask(index, task, spec, needs, tool_count, kept_in=str(run_dir.path))


def _cwd(task: Task, context: PlanContext) -> Path:
    return Path(task.cwd) if task.cwd else context.cwd


def _spec(
    task: Task,
    needs: Preparation,
    run_dir: RunDir,
    texts: Mapping[str, bytes],
    context: PlanContext,
) -> tuple[RunSpec, int | None]:
    """Return how the task is to be run, and how many tools its child has, if that is said."""
    settings = context.settings
    child = context.engine.plan_child(_child_request(task, needs, run_dir, texts, context))
    spec = RunSpec(
        run_id=run_dir.run_id,
        session_id=task.resume or new_session_id(),
        name=task.name,
        attached=not needs.detached,
        notes=needs.notes,
        on_complete=settings.on_complete if needs.detached else (),
        child=child.order,
        limits=RunLimits(
            timeout_s=task.timeout_s,
            extend_debounce_s=settings.extend_timeout_debounce,
            extend_max_s=settings.extend_timeout_max,
            looping_tool_count=settings.looping_tool_count,
            max_run_bytes=int(settings.max_run_megabytes * 1024 * 1024),
            max_children=settings.max_machine_children,
            wrap_up_s=settings.wrap_up_before,
        ),
        reuse=ReuseOrder(
            kind=child.share_key,
            follows=needs.earlier[-1].run_id if needs.earlier else "",
        ),
    )
    return spec, child.tool_count


def _child_request(
    task: Task,
    needs: Preparation,
    run_dir: RunDir,
    texts: Mapping[str, bytes],
    context: PlanContext,
) -> ChildRequest:
    """Return what the child is to be; `texts` are what it reads, by their names."""
    cwd, desk = _cwd(task, context), run_dir.desk
    profile, append = needs.profile or Profile(""), _append_file(needs)
    # On the desk: what a task does to the project must not change how another is started.
    return ChildRequest(
        run_id=run_dir.run_id,
        cwd=str(cwd),
        trusted=context.trusted(cwd),
        profile=profile,
        skill_paths=needs.skill_paths,
        system_prompt_file=str(desk.path / SYSTEM_PROMPT) if profile.system_prompt else None,
        append_prompt_file=str(desk.path / append) if append in texts else None,
        session_file=str(desk.child_session) if needs.preset else None,
        texts={str(desk.path / name): text for name, text in texts.items()},
        shareable=not needs.detached,
    )


def _texts(task: Task, needs: Preparation, cwd: Path, context: PlanContext) -> dict[str, bytes]:
    """Return what the child reads, by the name of the file it reads it from."""
    files = read_files(task.files, cwd)
    asked = format_blocks(files, task.prompt)
    as_prompt = context.engine.as_prompt
    texts = {PROMPT: as_prompt(asked)}
    if needs.earlier:
        limit = int(context.settings.max_resume_kilobytes * 1024)
        prompt = resume_prompt(needs.earlier, task.prompt, max_bytes=limit)
        texts = {PROMPT: as_prompt(format_blocks(files, prompt)), TASK: asked}
    if needs.profile and needs.profile.system_prompt:
        texts[SYSTEM_PROMPT] = needs.profile.system_prompt
    if needs.profile and needs.profile.append_system_prompt:
        texts[_append_file(needs)] = needs.profile.append_system_prompt
    return {name: text.encode("utf-8", "replace") for name, text in texts.items()}


def _append_file(needs: Preparation) -> str:
    """Return where an appended prompt is kept: a preset's has the seed's name for it."""
    return SYSTEM_PROMPT if needs.preset else APPEND_PROMPT


def _meta(
    spec: RunSpec, task: Task, needs: Preparation, run_dir: RunDir, context: PlanContext
) -> dict[str, object]:
    return {
        "schemaVersion": META_VERSION,
        "runId": spec.run_id,
        "sessionId": spec.session_id,
        "name": spec.name,
        "task": task.prompt[:TASK_PREVIEW],
        "taskLength": len(task.prompt),
        "cwd": spec.child.cwd,
        "timeoutS": spec.limits.timeout_s,
        "profile": needs.profile.name if needs.profile and not needs.preset else None,
        "resumed": bool(needs.earlier),
        "notes": list(needs.notes),
        **(_preset_meta(needs.preset, run_dir) if needs.preset else {}),
        "attached": spec.attached,
        **context.engine.facts,
        "argv": list(spec.child.argv),
        "trusted": context.trusted(Path(spec.child.cwd)),
        "createdAt": _now_ms(),
        "desk": str(run_dir.desk.path),
        "seal": context.seal(run_dir),
    }


def _preset_meta(use: PresetUse, run_dir: RunDir) -> dict[str, object]:
    preset = use.preset
    return {
        "preset": preset.name,
        "presetSource": use.source,
        "tools": None if preset.tools is None else list(preset.tools),
        "systemPrompt": preset.prompt or None,
        "systemPromptPath": str(run_dir.system_prompt) if preset.prompt else None,
        "requestedModel": use.requested_model,
        "resolvedModel": use.resolved_model,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
