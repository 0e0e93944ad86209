"""
Turn checked tasks into planned runs: ids, a directory each, the child's command line.

Everything that can refuse the whole call has happened before; a task that cannot start (its
directory is missing) is planned with its refusal, so that it too has an id and a result.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config.attachments import read_files
from pi_subagents.core.answer.messages import answer_in_json
from pi_subagents.core.cluster.destination import destination_of
from pi_subagents.core.own_tools import how_to_use
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run.files import APPEND_PROMPT, ORDERS, PROMPT, SYSTEM_PROMPT, TASK
from pi_subagents.core.run.spec import (
    REPLAY,
    AnswerOrder,
    CheckOrder,
    ReuseOrder,
    RunLimits,
    RunSpec,
    WorkspaceOrder,
    changed,
)
from pi_subagents.core.task.attachment import format_blocks
from pi_subagents.core.task.resume import resume_prompt
from pi_subagents.core.value import replace
from pi_subagents.core.workspace.modes import SHARED, WORKTREE
from pi_subagents.engines.base import ChildRequest
from pi_subagents.errors import BackgroundNotIndexed, ResumeStillRunning, StoreUnwritable
from pi_subagents.service import messages
from pi_subagents.service.delegation import PlannedTask, Preparation, PresetUse
from pi_subagents.service.session.resuming import Past, past_of, retold
from pi_subagents.service.sessions import refuse_if_resumed_elsewhere
from pi_subagents.service.workspaces.planning import (
    cwd_of,
    discard_workspaces,
    plan_workspaces,
    went_on_in,
)
from pi_subagents.store.run_dir import META_VERSION
from pi_subagents.store.run_store import new_run_id, new_session_id
from pi_subagents.system import crash_points
from pi_subagents.system.home import project_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.engines.base import ChildPlan
    from pi_subagents.service.call import CallContext
    from pi_subagents.store.run_dir import RunDir

TASK_PREVIEW = 2000


def plan(
    context: CallContext, request: DelegateRequest, preparations: Sequence[Preparation]
) -> tuple[PlannedTask, ...]:
    """Give every task its run directory and make it known."""
    if any(destination_of(task.on, context.usual_runner).tag for task in request.tasks):
        from pi_subagents.service.cluster.travelling import refuse_what_stays

        refuse_what_stays(context, request, preparations)
    if gone := [removal.reason for removal in context.runs.keep_tidy()]:
        days, megabytes = context.settings.retention_days, context.settings.retention_megabytes
        counts = gone.count("age"), days, gone.count("space"), megabytes
        context.notice(messages.old_runs_removed(*counts))
    planned = _plan_within_budgets(request, context, preparations)
    crash_points.reach(crash_points.PLANNED)
    try:
        _make_known(context, planned)
    except (BackgroundNotIndexed, ResumeStillRunning):
        context.held.discard(run.spec.run_id for run in planned)
        raise
    crash_points.reach(crash_points.INDEXED)
    return planned


def _plan_within_budgets(
    request: DelegateRequest, context: CallContext, preparations: Sequence[Preparation]
) -> tuple[PlannedTask, ...]:
    """Plan every task; refuse a call whose budgets nothing could keep."""
    given: list[object] = [
        request.budget,
        context.settings.day_budget,
        context.settings.project_day_budget,
    ]
    given += [task.budget for task in request.tasks]
    if not any(given) and not any(each.profile and each.profile.budget for each in preparations):
        return plan_runs(request, context, preparations)
    from pi_subagents.service.spending.budgets import open_budgets, with_budgets

    sums = open_budgets(context, request, preparations)
    planned = plan_runs(request, context, preparations)
    return with_budgets(context, request.budget, planned, sums)


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
    if any(_confines(needs, context) for needs in prepared):
        from pi_subagents.service.workspaces.confining import refuse_unconfinable

        refuse_unconfinable(context)
    modes = [
        _mode_of(task, needs, context) for task, needs in zip(request.tasks, prepared, strict=True)
    ]
    orders: Sequence[WorkspaceOrder] = [WorkspaceOrder()] * len(modes)
    if any(mode != SHARED for mode in modes):
        orders = plan_workspaces(request.tasks, prepared, modes, context)
    planned: list[PlannedTask] = []
    try:
        each = zip(request.tasks, prepared, orders, strict=True)
        for index, (task, needs, order) in enumerate(each):
            named = replace(task, profile=request.profile_of(task))
            planned.append(_plan(index, named, needs, order, context))
    except StoreUnwritable:  # the whole call is refused: nothing may be left of it
        context.held.discard(run.spec.run_id for run in planned)
        discard_workspaces(orders)
        raise
    return tuple(planned)


def prewarm_spec(task: Task, needs: Preparation, context: CallContext) -> RunSpec | None:
    """Return what starts a child before its run is planned; None if only that run could use it."""
    profile = needs.profile
    if needs.refusal or (profile and (profile.system_prompt or profile.append_system_prompt)):
        return None
    if destination_of(task.on, context.usual_runner).tag:
        return None
    if _mode_of(task, needs, context) != SHARED or _confines(needs, context):
        return None
    spec, _ = _spec(task, needs, context.runs.store.run_dir(new_run_id()), {}, context)
    return spec if spec.reuse.kind else None


def _plan(
    index: int, task: Task, needs: Preparation, order: WorkspaceOrder, context: CallContext
) -> PlannedTask:
    cwd = _cwd(task, context)
    run_id, engine = new_run_id(), context.open_engine(needs.engine)
    place = cwd_of(order, run_id) if order.home else cwd
    past = past_of(needs.earlier, place, engine, context.settings) if needs.earlier else Past()
    try:
        spec, tool_count, kept_in = begin_run(task, needs, past, order, context, run_id=run_id)
    except StoreUnwritable as full:
        if past.session is None:
            raise
        past, run_id = retold(needs.earlier, full.reason), new_run_id()
        spec, tool_count, kept_in = begin_run(task, needs, past, order, context, run_id=run_id)
    usable = os.path.isdir(cwd)  # noqa: PTH112 - Path.is_dir() raises where it may not look
    if not (usable or needs.refusal):
        needs = replace(needs, refusal=messages.cwd_missing(str(cwd)))
    return PlannedTask(index, task, spec, needs, tool_count, kept_in=kept_in)


def begin_run(
    task: Task,
    needs: Preparation,
    past: Past,
    order: WorkspaceOrder,
    context: CallContext,
    *,
    run_id: str,
    session_id: str = "",
) -> tuple[RunSpec, int | None, str]:
    """
    Make the directory of a run; return its order, how many tools its child has, and where.

    A run that was planned on another machine has its session's id from there.
    """
    run_dir = context.runs.store.run_dir(run_id)
    needs = replace(needs, notes=(*needs.notes, *past.notes))
    texts = _texts(task, needs, past, context)
    works_in = cwd_of(order, run_dir.run_id) if order.home else None
    spec, child = _spec(
        task, needs, run_dir, texts, context, works_in=works_in, session=past.session
    )
    if session_id:
        spec = replace(spec, session_id=session_id)
    _add_orders(texts, spec, child)
    if works_in is not None:
        goes_on = bool(order.tree)
        own = str(_cwd(task, context))
        copied = own if own != str(works_in) else messages.OF_ANOTHER_MACHINE
        words = messages.works_in_worktree(str(works_in), copied, goes_on=goes_on)
        for name in texts.keys() & {PROMPT, TASK}:
            texts[name] += f"\n\n{words}".encode("utf-8", "replace")
    spec = replace(spec, resume=past.order, workspace=order)
    if _confines(needs, context):
        from pi_subagents.service.workspaces.confining import confined

        spec = confined(spec, run_dir, child, context)
    if past.order.how and context.settings.resume == REPLAY:
        spec = changed(spec, follows="")  # nor in a child that still has the session
    try:
        meta = _meta(spec, task, needs, run_dir, context)
        context.held.begin(run_dir, meta, texts.pop(PROMPT), texts, past.session)
    except OSError as error:
        raise StoreUnwritable(str(run_dir.path), str(error)) from error
    return spec, child.tool_count, str(run_dir.path)


def _add_orders(texts: dict[str, bytes], spec: RunSpec, child: ChildPlan) -> None:
    """Put what the run wants of its child beside its prompt, or into it."""
    if child.orders:
        texts[ORDERS] = child.orders.encode()
    words = how_to_use(spec.child.own_tools)
    if spec.answer.schema and not spec.answer.by_tool:
        words += answer_in_json(spec.answer.schema)
    for name in texts.keys() & {PROMPT, TASK} if words else ():
        texts[name] += f"\n\n{words}".encode()


def _mode_of(task: Task, needs: Preparation, context: CallContext) -> str:
    """Return what was chosen for a task: by itself, its profile, the call, else the settings."""
    of_profile = needs.profile.workspace if needs.profile else ""
    chosen = task.workspace or of_profile or context.options.get("workspace")
    if destination_of(task.on, context.usual_runner).tag:
        from pi_subagents.service.cluster.workplaces import mode_there

        return mode_there(chosen, _cwd(task, context), context)
    if not chosen and needs.earlier and went_on_in(needs, context):
        return WORKTREE
    return chosen or context.settings.workspace


def _confines(needs: Preparation, context: CallContext) -> bool:
    of_profile = needs.profile.confine if needs.profile else False
    return of_profile or context.options.get("confine", False)


def _cwd(task: Task, context: CallContext) -> Path:
    return Path(task.cwd) if task.cwd else context.cwd


def _spec(
    task: Task,
    needs: Preparation,
    run_dir: RunDir,
    texts: Mapping[str, bytes],
    context: CallContext,
    *,
    works_in: Path | None = None,
    session: bytes | None = None,
) -> tuple[RunSpec, ChildPlan]:
    """Return the order for a task, and how its child is started."""
    settings, cwd, desk = context.settings, _cwd(task, context), run_dir.desk
    goes_on = needs.earlier and not task.fork
    profile, append = needs.profile or Profile(""), _append_file(needs)
    child = context.open_engine(needs.engine).plan_child(
        ChildRequest(
            run_id=run_dir.run_id,
            cwd=str(works_in or cwd),
            trusted=context.trusted(cwd),
            profile=profile,
            skill_paths=needs.skill_paths,
            # On the desk: what a task does to the project must not change how another is started.
            system_prompt_file=str(desk.path / SYSTEM_PROMPT) if profile.system_prompt else None,
            append_prompt_file=str(desk.path / append) if append in texts else None,
            orders_file=str(desk.orders),
            schema=needs.schema,
            texts={str(desk.path / name): text for name, text in texts.items()},
            session=session,
            shareable=not needs.detached and works_in is None and not _confines(needs, context),
        )
    )
    spec = RunSpec(
        run_id=run_dir.run_id,
        session_id=needs.earlier[-1].session_id if goes_on else new_session_id(),
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
            max_of_provider=settings.provider_limits.get(child.order.provider, 0),
            limit_wait_s=settings.limit_wait_max,
            wrap_up_s=settings.wrap_up_before,
            answer_within_s=settings.answer_within if profile.may_ask else 0,
        ),
        check=CheckOrder(task.check or profile.check, task.check_rounds),
        answer=AnswerOrder(
            "" if needs.schema is None else json.dumps(needs.schema),
            by_tool=child.has_schema_tool,
        ),
        reuse=ReuseOrder(
            kind=child.share_key,
            follows=needs.earlier[-1].run_id if needs.earlier else "",
        ),
    )
    return spec, child


def _texts(task: Task, needs: Preparation, past: Past, context: CallContext) -> dict[str, bytes]:
    """Return what the child reads, by the name of the file it reads it from."""
    files = read_files(task.files, _cwd(task, context))
    request = format_blocks(files, task.prompt)
    as_prompt = context.open_engine(needs.engine).as_prompt
    texts = {PROMPT: as_prompt(request)}
    if past.order.how == REPLAY:
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
        "callId": context.call_id,
        "sessionId": spec.session_id,
        "name": spec.name,
        "task": task.prompt[:TASK_PREVIEW],
        "taskLength": len(task.prompt),
        "cwd": str(_cwd(task, context)),
        **({"worktree": spec.child.cwd} if spec.workspace.home else {}),
        "timeoutS": spec.limits.timeout_s,
        "profile": (needs.profile.name or None) if needs.profile and not needs.preset else None,
        "resumed": spec.resume.how or None,
        "forkedFrom": needs.earlier[-1].run_id if task.fork and needs.earlier else None,
        "notes": [*needs.notes, *filter(None, (spec.resume.why,))],
        **(_preset_meta(needs.preset, run_dir) if needs.preset else {}),
        **({} if needs.schema is None else {"outputSchema": needs.schema}),
        "attached": spec.attached,
        **context.open_engine(needs.engine).facts,
        "argv": list(spec.child.argv),
        "trusted": context.trusted(_cwd(task, context)),
        "project": str(project_root(context.cwd)),
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
