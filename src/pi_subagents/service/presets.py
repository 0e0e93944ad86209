"""
Runs with presets: find the preset, choose its model, run it.

A single task that cannot start refuses the call; of several, each that cannot start has that as
its own outcome and the others go on.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import errors
from pi_subagents.config.preset_files import load_presets
from pi_subagents.core.definitions.definition import PROJECT
from pi_subagents.core.definitions.found import PRESET
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.core.task.request import DelegateRequest, Task, with_budget
from pi_subagents.core.value import replace
from pi_subagents.engines.base import ModelWish
from pi_subagents.service import messages
from pi_subagents.service.answer_schemas import refuse_wrong_schema, with_schema
from pi_subagents.service.call import open_call
from pi_subagents.service.definitions.choice import ask_first, choose_for
from pi_subagents.service.delegation import Preparation, PresetUse
from pi_subagents.service.engines.choosing import (
    choose_engine,
    without_engine,
    without_other_models,
)
from pi_subagents.service.foreground import execute, with_offline_model
from pi_subagents.service.plan import plan
from pi_subagents.service.profiles import refuse_unsupported
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.view.answers import subagent_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.preset.preset import LoadedPreset
    from pi_subagents.core.preset.request import PresetTask, SubagentRequest
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.base import EngineCall
    from pi_subagents.service.call import CallContext, Options


class PresetCatalogue:
    """The presets and models of one call, each looked up when it is first needed."""

    def __init__(self, context: CallContext) -> None:
        self._context = context
        self._presets = load_presets(context.cwd, context.env)
        for problem in self._presets.problems:
            if problem.fatal:
                context.notice(str(problem))

    def prepare(self, task: PresetTask, *, detached: bool = False) -> Preparation:
        """Return what a task needs; RequestError where its preset or model cannot be had."""
        chosen = choose_for(self._context, PRESET, self._presets, task.preset)
        if chosen.refusal:
            raise errors.DefinitionNotUsed(chosen.refusal)
        loaded = chosen.loaded
        if loaded is None:
            raise errors.UnknownPreset(task.preset, tuple(self._presets.by_name))
        profile, notes = self._permitted(loaded)
        name = choose_engine(self._context, task.engine, profile)
        engine = self._context.open_engine(name)
        profile, left_out = without_other_models(profile, name)
        requested, resolved = self._model(task, loaded, profile, engine)
        refuse_unsupported(profile, engine)
        prepared = engine.prepare_preset(profile, resolved)
        if detached and chosen.note:  # its result may be long in coming
            self._context.notice(chosen.note)
        needs = Preparation(
            profile=prepared.profile,
            notes=(*filter(None, (chosen.note,)), *notes, *left_out, *prepared.notes),
            preset=PresetUse(loaded.preset, loaded.scope, requested, resolved),
            detached=detached,
            engine=name,
        )
        needs = with_schema(needs, task.output_schema)
        whose = f'preset "{loaded.name}".' if task.output_schema is None else ""
        refuse_wrong_schema(f"{whose}outputSchema", needs.schema)
        return needs

    def _permitted(self, loaded: LoadedPreset) -> tuple[Profile, tuple[str, ...]]:
        """Return what a preset comes to without what its origin may not decide, and the note."""
        profile = preset_profile(loaded.preset)
        if loaded.scope != PROJECT or self._context.trusted(self._context.cwd):
            return profile, ()
        own = self._presets.get_overridden(loaded.name)
        if own is not None:
            stricter = profile.permissions.tightened_by(own.preset.permissions)
            profile = replace(profile, permissions=stricter)
        profile, left_out = without_engine(profile)
        note = messages.note_untrusted(PRESET, loaded.name, left_out) if left_out else ""
        return profile, tuple(filter(None, (note,)))

    def _model(
        self, task: PresetTask, loaded: LoadedPreset, profile: Profile, engine: EngineCall
    ) -> tuple[str | None, str | None]:
        if self._context.options.get("offline", False):  # it stands in for every model
            return task.model or profile.model or None, None
        place = Path(task.cwd) if task.cwd else self._context.cwd
        wanted, found = engine.choose_model(
            ModelWish(task.model, profile.model, loaded.name, loaded.path, place)
        )
        return wanted or None, found or None


async def run_subagent(request: SubagentRequest, options: Options) -> dict[str, object]:
    """Run the tasks of the tool `subagent` and return its value."""
    await ask_first(PRESET, (task.preset for task in request.tasks), options)
    context = open_call(options)
    request = _placed(request, str(context.cwd))
    catalogue = PresetCatalogue(context)
    prepare = _or_refusal if request.parallel else PresetCatalogue.prepare
    # pi may have to be asked for its models: a host has other things to do meanwhile.
    if (
        request.parallel
    ):  # a task that cannot start spares the others; a call that is wrong does not
        for index, task in enumerate(request.tasks):
            where = f"tasks[{index}].outputSchema"
            await in_own_thread("check", partial(refuse_wrong_schema, where, task.output_schema))
    preparations = [
        await in_own_thread("prepare", partial(prepare, catalogue, task)) for task in request.tasks
    ]
    with ExitStack() as resources:
        context = with_offline_model(context, resources)
        checked = as_request(request.tasks, context.settings.foreground_timeout)
        checked = with_budget(checked, options.get("budget"))
        planned = plan(context, checked, preparations)
        results, _ = await execute(context, planned)
    models = [
        (use.requested_model, use.resolved_model) if (use := needs.preset) else (task.model, None)
        for task, needs in zip(request.tasks, preparations, strict=True)
    ]
    return subagent_to_json(request, results, models, context.settings)


def as_request(tasks: Sequence[PresetTask], timeout_s: float | None) -> DelegateRequest:
    """Return the tasks as the planner takes them, named after their presets."""
    several = len(tasks) > 1
    return DelegateRequest(
        tuple(
            Task(
                name=f"{task.preset}-{number}" if several else task.preset,
                prompt=task.task,
                cwd=task.cwd,
                timeout_s=timeout_s,
                output_schema=task.output_schema,
            )
            for number, task in enumerate(tasks, 1)
        )
    )


def _placed(request: SubagentRequest, cwd: str) -> SubagentRequest:
    """Return the request with a directory for every task, as its result names it."""
    tasks = (replace(task, cwd=task.cwd or cwd) for task in request.tasks)
    return replace(request, tasks=tuple(tasks))


def _or_refusal(catalogue: PresetCatalogue, task: PresetTask) -> Preparation:
    try:
        return catalogue.prepare(task)
    except errors.RequestError as refusal:
        return Preparation(refusal=str(refusal))
