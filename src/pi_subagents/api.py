"""
The Python API.

    from pi_subagents import Task, delegate
    done = await delegate([Task("count", "Count the Python files in src")])
    print(done.results[0].output)

Everything that refuses a whole call raises here, before anything starts; afterwards every task
has a result.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Unpack

from pi_subagents import launch, profile_messages
from pi_subagents.core import summary
from pi_subagents.core.project_definitions import PROFILE
from pi_subagents.core.request import DelegateRequest, Task, checked_request
from pi_subagents.core.value import replace
from pi_subagents.definition_questions import ask_first
from pi_subagents.delegation.preparation import Preparation
from pi_subagents.errors import SubagentsError
from pi_subagents.sessions import sessions_to_resume

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.session import StoredRun
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.window import Window
    from pi_subagents.launch import Options


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a delegation came to: results in task order."""

    results: tuple[RunResult, ...]
    windows: tuple[Window, ...]
    settings: Settings

    @property
    def summary(self) -> str:
        """One line per task."""
        return summary.summary_text(self.results, self.windows)

    def to_json(self) -> dict[str, object]:
        """Return the value of the tool `delegate_to_subagents`."""
        return summary.delegation_to_json(
            self.results, self.windows, max_lines=self.settings.max_lines_per_window
        )


async def delegate(tasks: Iterable[Task], **options: Unpack[Options]) -> Delegation:
    """Run every task in a sub-agent of its own and return the results in task order."""
    launch.check_options(options)
    return await delegate_request(checked_request(tasks, options.get("profile")), options)


def delegate_sync(tasks: Iterable[Task], **options: Unpack[Options]) -> Delegation:
    """Do the same without an event loop of one's own."""
    return asyncio.run(delegate(tasks, **options))


async def call_tool(name: str, parameters: object, **options: Unpack[Options]) -> dict[str, object]:
    """Run a tool by name; a refusal is a value here, as it is for every host."""
    from pi_subagents.tool_calls import call

    try:
        launch.check_options(options)
        return await call(name, parameters, options)
    except SubagentsError as refusal:
        return summary.refusal_to_json(str(refusal))


async def delegate_request(request: DelegateRequest, options: Options) -> Delegation:
    """Run a checked request."""
    named = (request.profile_of(task) for task in request.tasks)
    await ask_first(PROFILE, filter(None, named), options)
    ground = launch.stand(options)
    preparations = prepare(request, ground)
    with ExitStack() as resources:
        override = launch.offline_model(ground, resources)
        planned = launch.plan(ground, request, preparations, override)
        results, windows = await launch.execute(ground, planned)
    return Delegation(results, windows, ground.settings)


def prepare(request: DelegateRequest, ground: launch.Ground) -> tuple[Preparation, ...]:
    """Resolve profiles, skills and sessions: whatever of them can refuse the whole call."""
    sessions = (task.resume for task in request.tasks if task.resume)
    earlier = sessions_to_resume(ground.runs, sessions, launch.told_by(ground.options))
    preparations: tuple[Preparation, ...] = (Preparation(),) * len(request.tasks)
    if any(map(request.profile_of, request.tasks)):
        from pi_subagents.delegation.profiles import prepare_profiles
        from pi_subagents.disk.model_config import configured_providers
        from pi_subagents.disk.profile_files import load_profiles
        from pi_subagents.disk.skill_files import discover_skills

        preparations = prepare_profiles(
            request,
            load_profiles(ground.cwd, ground.env),
            trusted=ground.trusted(ground.cwd),
            parent_tools=ground.options.get("parent_tools"),
            traits=ground.traits,
            own_providers=cache(lambda: configured_providers(ground.env)),
            skills=cache(partial(discover_skills, ground.cwd, ground.env)),
            choose=partial(ground.choose, PROFILE),
        )
    return tuple(
        _resuming(needs, earlier[task.resume]) if task.resume else needs
        for task, needs in zip(request.tasks, preparations, strict=True)
    )


def _resuming(needs: Preparation, earlier: tuple[StoredRun, ...]) -> Preparation:
    """Let a task go on with a session; a profile that is left behind is said."""
    was = earlier[-1].profile
    dropped = was and needs.profile is None and not needs.refusal
    notes = (*needs.notes, profile_messages.note_profile_left(was)) if dropped else needs.notes
    return replace(needs, earlier=earlier, notes=notes)
