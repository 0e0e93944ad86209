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
from pi_subagents.core.run.spec import ReuseOrder, RunLimits, RunSpec
from pi_subagents.core.task.attachment import format_blocks
from pi_subagents.core.task.resume import resume_prompt
from pi_subagents.core.value import replace
from pi_subagents.engines.base import ChildRequest
from pi_subagents.errors import BackgroundNotIndexed, ResumeStillRunning, StoreUnwritable
from pi_subagents.service import messages
from pi_subagents.service.delegation import PlannedTask, Preparation, PresetUse
from pi_subagents.service.sessions import refuse_if_resumed_elsewhere
from pi_subagents.store.run_dir import META_VERSION
from pi_subagents.store.run_store import new_run_id, new_session_id
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.service.call import CallContext
    from pi_subagents.store.run_dir import RunDir

TASK_PREVIEW = 2000


def plan(
    context: CallContext, request: DelegateRequest, preparations: Sequence[Preparation]
) -> tuple[PlannedTask, ...]:
    """Give every task its run directory and make it known."""
    if gone := [removal.reason for removal in context.runs.keep_tidy()]:
        days, megabytes = context.settings.retention_days, context.settings.retention_megabytes
        counts = gone.count("age"), days, gone.count("space"), megabytes
        context.notice(messages.old_runs_removed(*counts))
    planned = plan_runs(request, context, preparations)
    crash_points.reach(crash_points.PLANNED)
    try:
        _make_known(context, planned)
    except (BackgroundNotIndexed, ResumeStillRunning):
        context.held.discard(run.spec.run_id for run in planned)
        raise
    crash_points.reach(crash_points.INDEXED)
    return planned


def _make_known(context: CallContext, planned: Sequence[PlannedTask]) -> None:
    """Put planned runs into the index; refuse a session that another call continues meanwhile."""
    runs = context.runs
    if reason := runs.add(run.spec for run in planned):
        if not all(run.spec.attached for run in planned):
            raise BackgroundNotIndexed(str(runs.index.path), reason)
        context.notice(messages.index_unusable(reason))
    if resumed := [run.spec for run in planned if run.task.resume]:
        refuse_if_resumed_elsewhere(runs, resumed)


def plan_runs(
    request: DelegateRequest,
    context: CallContext,
    preparations: Sequence[Preparation] | None = None,
) -> tuple[PlannedTask, ...]:
    """Plan every task; StoreUnwritable if there is no room to keep a run."""
    context.runs.store.prepare()
    prepared = preparations or [Preparation()] * len(request.tasks)
    planned: list[PlannedTask] = []
    try:
        for index, (task, needs) in enumerate(zip(request.tasks, prepared, strict=True)):
            named = replace(task, profile=request.profile_of(task))
            planned.append(_plan(index, named, needs, context))
    except StoreUnwritable:  # the whole call is refused: nothing may be left of it
        context.held.discard(run.spec.run_id for run in planned)
        raise
    return tuple(planned)


def prewarm_spec(task: Task, needs: Preparation, context: CallContext) -> RunSpec | None:
    """Return what starts a child before its run is planned; None if only that run could use it."""
    profile = needs.profile
    if needs.refusal or (profile and (profile.system_prompt or profile.append_system_prompt)):
        return None
    spec, _ = _spec(task, needs, context.runs.store.run_dir(new_run_id()), {}, context)
    return spec if spec.reuse.kind else None


def _plan(index: int, task: Task, needs: Preparation, context: CallContext) -> PlannedTask:
    cwd = _cwd(task, context)
    run_dir = context.runs.store.run_dir(new_run_id())
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


def _cwd(task: Task, context: CallContext) -> Path:
    return Path(task.cwd) if task.cwd else context.cwd


def _spec(
    task: Task,
    needs: Preparation,
    run_dir: RunDir,
    texts: Mapping[str, bytes],
    context: CallContext,
) -> tuple[RunSpec, int | None]:
    """Return the order for a task, and how many tools its child has, if that is known."""
    settings, cwd, desk = context.settings, _cwd(task, context), run_dir.desk
    profile, append = needs.profile or Profile(""), _append_file(needs)
    child = context.engine.plan_child(
        ChildRequest(
            run_id=run_dir.run_id,
            cwd=str(cwd),
            trusted=context.trusted(cwd),
            profile=profile,
            skill_paths=needs.skill_paths,
            # On the desk: what a task does to the project must not change how another is started.
            system_prompt_file=str(desk.path / SYSTEM_PROMPT) if profile.system_prompt else None,
            append_prompt_file=str(desk.path / append) if append in texts else None,
            session_file=str(desk.child_session) if needs.preset else None,
            texts={str(desk.path / name): text for name, text in texts.items()},
            shareable=not needs.detached,
        )
    )
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


def _texts(task: Task, needs: Preparation, cwd: Path, context: CallContext) -> dict[str, bytes]:
    """Return what the child reads, by the name of the file it reads it from."""
    files = read_files(task.files, cwd)
    request = format_blocks(files, task.prompt)
    as_prompt = context.engine.as_prompt
    texts = {PROMPT: as_prompt(request)}
    if needs.earlier:
        limit = int(context.settings.max_resume_kilobytes * 1024)
        prompt = resume_prompt(needs.earlier, task.prompt, max_bytes=limit)
        texts = {PROMPT: as_prompt(format_blocks(files, prompt)), TASK: request}
    if needs.profile and needs.profile.system_prompt:
        texts[SYSTEM_PROMPT] = needs.profile.system_prompt
    if needs.profile and needs.profile.append_system_prompt:
        texts[_append_file(needs)] = needs.profile.append_system_prompt
    return {name: text.encode("utf-8", "replace") for name, text in texts.items()}


def _append_file(needs: Preparation) -> str:
    """Return where an appended prompt is kept: a preset's has the seed's name for it."""
    return SYSTEM_PROMPT if needs.preset else APPEND_PROMPT


def _meta(
    spec: RunSpec, task: Task, needs: Preparation, run_dir: RunDir, context: CallContext
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
        "createdAt": time.time_ns() // 1_000_000,
        "desk": str(run_dir.desk.path),
        "seal": context.runs.seal(run_dir),
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
