"""
The composition root of runs with presets: find the preset, choose its model, run it.

A single task that cannot start refuses the call; of several, each that cannot start has that as
its own outcome and the others go on.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import errors, launch
from pi_subagents.core import profile_invocation
from pi_subagents.core.model_names import choose_model, models_named
from pi_subagents.core.preset import preset_profile
from pi_subagents.core.project_definitions import PRESET
from pi_subagents.core.request import DelegateRequest, Task
from pi_subagents.core.subagent_result import subagent_to_json
from pi_subagents.core.tool_names import tool_name_problem
from pi_subagents.core.value import replace
from pi_subagents.definition_questions import ask_first
from pi_subagents.delegation.preparation import Preparation, PresetUse
from pi_subagents.disk.config_home import data_dir
from pi_subagents.disk.model_config import ChildSetup
from pi_subagents.disk.preset_files import load_presets
from pi_subagents.engines.available_models import choose_among_models
from pi_subagents.engines.copilot import initiator_extensions
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.profile_messages import note_unknown_tools, preset_tool_refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.model_names import Model
    from pi_subagents.core.preset import LoadedPreset
    from pi_subagents.core.preset_request import PresetTask, SubagentRequest
    from pi_subagents.launch import Ground, Options


class PresetShelf:
    """The presets and models of one call, each looked up when it is first needed."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._presets = load_presets(ground.cwd, ground.env)
        for problem in self._presets.problems:
            if problem.fatal:
                ground.notice(str(problem))

    def prepare(self, task: PresetTask, *, detached: bool = False) -> Preparation:
        """Return what a task needs; RequestError where its preset or model cannot be had."""
        chosen = self._ground.choose(PRESET, self._presets, task.preset)
        if chosen.refusal:
            raise errors.DefinitionNotUsed(chosen.refusal)
        loaded = chosen.loaded
        if loaded is None:
            raise errors.UnknownPreset(task.preset, tuple(self._presets.by_name))
        requested, resolved = self._model(task, loaded)
        profile = preset_profile(loaded.preset)
        parent_tools = self._ground.options.get("parent_tools")
        traits = self._ground.traits
        for name in profile_invocation.named_tools(profile):
            if problem := tool_name_problem(name, traits):
                raise errors.ProfileRefused(preset_tool_refused(profile.name, problem))
        unknown = profile_invocation.unknown_tools(profile, parent_tools, traits)
        notes = (chosen.note, note_unknown_tools("preset", unknown) if unknown else "")
        if detached and chosen.note:  # its result may be long in coming
            self._ground.notice(chosen.note)
        return Preparation(
            profile=replace(
                profile, model=resolved or "", extensions=initiator_extensions(resolved)
            ),
            notes=tuple(filter(None, notes)),
            preset=PresetUse(loaded.preset, loaded.scope, requested, resolved),
            detached=detached,
        )

    def _model(self, task: PresetTask, loaded: LoadedPreset) -> tuple[str | None, str | None]:
        preset = loaded.preset
        if self._ground.options.get("offline", False):  # it stands in for every model
            return task.model or preset.model or None, None
        ground = self._ground

        def choose(available: tuple[Model, ...]) -> tuple[str, str]:
            return choose_model(
                task.model,
                preset.model,
                available,
                preset_name=preset.name,
                preset_path=loaded.path,
                renamed=ground.traits.renamed_providers,
            )

        told = ground.options.get("models")
        if told is not None:
            return choose(models_named(told))
        place = Path(task.cwd) if task.cwd else ground.cwd
        if not os.path.isdir(place):  # noqa: PTH112 - Path.is_dir() raises where it may not look
            place = ground.cwd  # the run will say what is wrong with its own
        setup = ChildSetup(
            ground.pi.argv, place, ground.env, ground.trusted(place), traits=ground.traits
        )
        return choose_among_models(setup, data_dir(ground.env), choose)


async def run_subagent(request: SubagentRequest, options: Options) -> dict[str, object]:
    """Run the tasks of the tool `subagent` and return its value."""
    await ask_first(PRESET, (task.preset for task in request.tasks), options)
    ground = launch.stand(options)
    request = _placed(request, str(ground.cwd))
    shelf = PresetShelf(ground)
    prepare = _or_refusal if request.parallel else PresetShelf.prepare
    # pi may have to be asked for its models: a host has other things to do meanwhile.
    preparations = [
        await in_own_thread("prepare", partial(prepare, shelf, task)) for task in request.tasks
    ]
    with ExitStack() as resources:
        override = launch.offline_model(ground, resources)
        checked = as_request(request.tasks, ground.settings.foreground_timeout)
        planned = launch.plan(ground, checked, preparations, override)
        results, _ = await launch.execute(ground, planned)
    models = [
        (use.requested_model, use.resolved_model) if (use := needs.preset) else (task.model, None)
        for task, needs in zip(request.tasks, preparations, strict=True)
    ]
    return subagent_to_json(request, results, models)


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
            )
            for number, task in enumerate(tasks, 1)
        )
    )


def _placed(request: SubagentRequest, cwd: str) -> SubagentRequest:
    """Return the request with a directory for every task, as its result tells it."""
    tasks = (replace(task, cwd=task.cwd or cwd) for task in request.tasks)
    return replace(request, tasks=tuple(tasks))


def _or_refusal(shelf: PresetShelf, task: PresetTask) -> Preparation:
    try:
        return shelf.prepare(task)
    except errors.RequestError as refusal:
        return Preparation(refusal=str(refusal))
