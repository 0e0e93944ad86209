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

from pi_subagents import messages
from pi_subagents.core.attachment import format_blocks
from pi_subagents.core.child_shape import ChildShape
from pi_subagents.core.invocation import Invocation, ModelOverride, plan_invocation
from pi_subagents.core.profile import Profile
from pi_subagents.core.profile_invocation import ProfileInvocation, profile_invocation
from pi_subagents.core.prompt import compose_prompt
from pi_subagents.core.resume import resume_prompt
from pi_subagents.core.run_spec import RunSpec
from pi_subagents.core.value import replace, value
from pi_subagents.delegation.ports import PlannedRun
from pi_subagents.delegation.preparation import Preparation, PresetUse
from pi_subagents.disk.attachments import read_files
from pi_subagents.disk.desk import APPEND_PROMPT, PROMPT, SYSTEM_PROMPT, TASK, Desk
from pi_subagents.disk.run_dir import META_VERSION, RunDir
from pi_subagents.disk.run_store import RunStore, new_run_id, new_session_id
from pi_subagents.errors import StoreUnwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pi_subagents.core.pi_versions import PiTraits
    from pi_subagents.core.request import DelegateRequest, Task
    from pi_subagents.core.settings import Settings

TASK_PREVIEW = 2000


@value
class Surroundings:
    """What all tasks of a call share."""

    cwd: Path
    settings: Settings
    store: RunStore
    pi_command: tuple[str, ...]
    pi_source: str
    traits: PiTraits
    trusted: Callable[[Path], bool]
    seal: Callable[[RunDir], str | None] = lambda _: None
    override: Callable[[str], ModelOverride] | None = None
    parent_tools: tuple[str, ...] | None = None
    kind_of: Callable[[ChildShape], str] = lambda _: ""
    slots_dir: str = ""  # where the children of this user are counted


def plan_runs(
    request: DelegateRequest,
    around: Surroundings,
    preparations: Sequence[Preparation] | None = None,
) -> tuple[PlannedRun, ...]:
    """Plan every task; StoreUnwritable if there is no room to keep a run."""
    around.store.prepare()
    prepared = preparations or [Preparation()] * len(request.tasks)
    planned: list[PlannedRun] = []
    try:
        for index, (task, needs) in enumerate(zip(request.tasks, prepared, strict=True)):
            run = _plan(index, task, needs, around)
            planned.append(replace(run, profile_name=request.profile_of(task) or ""))
    except StoreUnwritable:  # the whole call is refused: nothing may be left of it
        discard_runs(planned)
        raise
    return tuple(planned)


def discard_runs(planned: Iterable[PlannedRun]) -> None:
    """Take back runs that were planned and will not be started."""
    for run in planned:
        assert run.spec.lock_fd is not None
        _run_dir(run.spec).discard(run.spec.lock_fd)


def spec_ahead(task: Task, needs: Preparation, around: Surroundings) -> RunSpec | None:
    """
    Return what starts a child for a task before its run is planned.

    None where the child would be of no use to another run, or reads files of its own run.
    """
    profile = needs.profile
    if needs.refusal or (profile and (profile.system_prompt or profile.append_system_prompt)):
        return None
    spec = _spec(task, needs, around.store.run_dir(new_run_id()), {}, around)
    return spec if spec.kind else None


def _plan(index: int, task: Task, needs: Preparation, around: Surroundings) -> PlannedRun:
    cwd = _cwd(task, around)
    run_dir = around.store.run_dir(new_run_id())
    texts = _texts(task, needs, cwd, around.settings)
    spec = _spec(task, needs, run_dir, texts, around)
    try:
        lock = run_dir.begin(_meta(spec, task, needs, around), texts.pop(PROMPT), texts)
    except OSError as error:
        raise StoreUnwritable(str(run_dir.path), str(error)) from error
    usable = os.path.isdir(cwd)  # noqa: PTH112 - Path.is_dir() raises where it may not look
    refusal = needs.refusal or ("" if usable else messages.cwd_missing(str(cwd)))
    spec = replace(spec, lock_fd=lock, dir_mark=run_dir.mark())
    return PlannedRun(index, task, spec, refusal, profile=needs.profile)


def _run_dir(spec: RunSpec) -> RunDir:
    return RunDir(Path(spec.run_dir), Desk(Path(spec.desk)))


def _cwd(task: Task, around: Surroundings) -> Path:
    return Path(task.cwd) if task.cwd else around.cwd


def _spec(
    task: Task,
    needs: Preparation,
    run_dir: RunDir,
    texts: Mapping[str, bytes],
    around: Surroundings,
) -> RunSpec:
    """Return how the task is to be run; `texts` are what its child reads, by their names."""
    run_id, desk = run_dir.run_id, run_dir.desk
    cwd = _cwd(task, around)
    trusted = around.trusted(cwd)
    invocation = plan_invocation(
        around.pi_command,
        run_id=run_id,
        trusted=trusted,
        profile=_profile_invocation(needs, desk, texts, around),
        session_file=str(desk.child_session) if needs.preset else None,
        override=around.override(run_id) if around.override else None,
        mode=around.settings.child_mode,
    )
    return RunSpec(
        run_id=run_id,
        session_id=task.resume or new_session_id(),
        name=task.name,
        run_dir=str(run_dir.path),
        desk=str(desk.path),
        argv=invocation.argv,
        cwd=str(cwd),
        environment=invocation.environment,
        timeout_s=task.timeout_s,
        extend_debounce_s=around.settings.extend_timeout_debounce,
        extend_max_s=around.settings.extend_timeout_max,
        looping_tool_count=around.settings.looping_tool_count,
        max_run_bytes=int(around.settings.max_run_megabytes * 1024 * 1024),
        notes=needs.notes,
        max_children=around.settings.max_machine_children,
        slots_dir=around.slots_dir,
        attached=not needs.detached,
        on_complete=around.settings.on_complete if needs.detached else (),
        mode=around.settings.child_mode,
        keeps_session=bool(needs.preset),
        kind=_kind(
            invocation,
            cwd,
            needs,
            {str(desk.path / name): text for name, text in texts.items()},
            around,
            trusted=trusted,
        ),
        follows=needs.earlier[-1].run_id if needs.earlier else "",
        wrap_up_s=around.settings.wrap_up_before,
    )


def _kind(
    invocation: Invocation,
    cwd: Path,
    needs: Preparation,
    texts: Mapping[str, bytes],
    around: Surroundings,
    *,
    trusted: bool,
) -> str:
    """Return what shapes the child; nothing where it must be nobody else's."""
    if needs.detached:
        return ""
    named = {path: text for path, text in texts.items() if path in invocation.argv}
    return around.kind_of(
        ChildShape(
            argv=invocation.argv,
            environment=invocation.environment,
            cwd=str(cwd),
            trusted=trusted,
            texts=named,
            isolation=needs.profile.isolation if needs.profile else "",
        )
    )


def _texts(task: Task, needs: Preparation, cwd: Path, settings: Settings) -> dict[str, bytes]:
    """Return what the child reads, by the name of the file it reads it from."""
    files = read_files(task.files, cwd)
    asked = format_blocks(files, task.prompt)
    texts = {PROMPT: compose_prompt(asked)}
    if needs.earlier:
        limit = int(settings.max_resume_kilobytes * 1024)
        prompt = resume_prompt(needs.earlier, task.prompt, max_bytes=limit)
        texts = {PROMPT: compose_prompt(format_blocks(files, prompt)), TASK: asked}
    if needs.profile and needs.profile.system_prompt:
        texts[SYSTEM_PROMPT] = needs.profile.system_prompt
    if needs.profile and needs.profile.append_system_prompt:
        texts[_append_file(needs)] = needs.profile.append_system_prompt
    return {name: text.encode("utf-8", "replace") for name, text in texts.items()}


def _append_file(needs: Preparation) -> str:
    """Return where an appended prompt is kept: a preset's has the seed's name for it."""
    return SYSTEM_PROMPT if needs.preset else APPEND_PROMPT


def _profile_invocation(
    needs: Preparation,
    desk: Desk,
    texts: Mapping[str, bytes],
    around: Surroundings,
) -> ProfileInvocation:
    profile = needs.profile or Profile("")
    append_file = _append_file(needs)
    # On the desk: what a task does to the project must not change how another is started.
    append = str(desk.path / append_file) if append_file in texts else None
    system = str(desk.path / SYSTEM_PROMPT) if profile.system_prompt else None
    return profile_invocation(
        profile,
        system_prompt_file=system,
        append_prompt_file=append,
        skill_paths=needs.skill_paths,
        parent_tools=around.parent_tools,
        traits=around.traits,
    )


def _meta(spec: RunSpec, task: Task, needs: Preparation, around: Surroundings) -> dict[str, object]:
    return {
        "schemaVersion": META_VERSION,
        "runId": spec.run_id,
        "sessionId": spec.session_id,
        "name": spec.name,
        "task": task.prompt[:TASK_PREVIEW],
        "taskLength": len(task.prompt),
        "cwd": spec.cwd,
        "timeoutS": spec.timeout_s,
        "profile": needs.profile.name if needs.profile and not needs.preset else None,
        "resumed": bool(needs.earlier),
        "notes": list(needs.notes),
        **(_preset_meta(needs.preset, _run_dir(spec)) if needs.preset else {}),
        "attached": spec.attached,
        "engine": "pi",
        "childMode": spec.mode,
        "pi": {"source": around.pi_source, "version": around.traits.version or None},
        "argv": list(spec.argv),
        "offline": around.override is not None,
        "trusted": around.trusted(Path(spec.cwd)),
        "createdAt": _now_ms(),
        "desk": spec.desk,
        "seal": around.seal(_run_dir(spec)),
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
