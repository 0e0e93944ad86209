"""
Foreground delegation: run checked tasks to their end and return what they came to.

Everything that refuses a whole call raises before anything starts; afterwards every task has a
result.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.definitions.project_choice import PROFILE
from pi_subagents.core.value import replace, value
from pi_subagents.service import call as launch
from pi_subagents.service import messages
from pi_subagents.service.definitions.questions import ask_first
from pi_subagents.service.preparation import Preparation
from pi_subagents.service.sessions import sessions_to_resume
from pi_subagents.view import summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.task.request import DelegateRequest
    from pi_subagents.service.call import Options
    from pi_subagents.view.window import Window


@value
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


async def delegate_request(request: DelegateRequest, options: Options) -> Delegation:
    """Run a checked request."""
    if named := [name for task in request.tasks if (name := request.profile_of(task))]:
        await ask_first(PROFILE, named, options)
    context = launch.open_call(options)
    preparations = prepare(request, context)
    with ExitStack() as resources:
        context = launch.with_offline_model(context, resources)
        planned = launch.plan(context, request, preparations)
        results, windows = await launch.execute(context, planned)
    return Delegation(results, windows, context.settings)


def prewarm(request: DelegateRequest, options: Options) -> None:
    """Start what the tasks that are known so far will need, where the host keeps children ready."""
    context = launch.open_call(options)
    if context.settings.warm_children:
        launch.prewarm(context, zip(request.tasks, prepare(request, context), strict=True))
        context.pool.settle_later()


def prepare(request: DelegateRequest, context: launch.CallContext) -> tuple[Preparation, ...]:
    """Resolve profiles, skills and sessions: whatever of them can refuse the whole call."""
    earlier: Mapping[str, tuple[RunRecord, ...]] = {}
    if sessions := [task.resume for task in request.tasks if task.resume]:
        earlier = sessions_to_resume(context.runs, sessions, launch.history_of(context.options))
    preparations: tuple[Preparation, ...] = (Preparation(),) * len(request.tasks)
    if any(map(request.profile_of, request.tasks)):
        from pi_subagents.config.profile_files import load_profiles
        from pi_subagents.service.profiles import prepare_profiles

        preparations = prepare_profiles(
            request,
            load_profiles(context.cwd, context.env),
            context.engine,
            trusted=context.trusted(context.cwd),
            choose=partial(context.choose, PROFILE),
        )
    return tuple(
        _resuming(needs, earlier[task.resume]) if task.resume else needs
        for task, needs in zip(request.tasks, preparations, strict=True)
    )


def _resuming(needs: Preparation, earlier: tuple[RunRecord, ...]) -> Preparation:
    """Let a task go on with a session; a profile that is left behind is said."""
    was = earlier[-1].meta.profile
    dropped = was and needs.profile is None and not needs.refusal
    notes = (*needs.notes, messages.note_profile_left(was)) if dropped else needs.notes
    return replace(needs, earlier=earlier, notes=notes)
