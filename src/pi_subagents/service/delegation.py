"""
The values of a delegation: what a task needs, the order it became, what happens, what came of it.

A task's needs are resolved before anything starts; empty, it needs nothing beyond its prompt.
A planned task pairs the request, its needs and the order for its run; it copies nothing of them.
An observer is called with what happens, in order, and is never waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.view import answers

if TYPE_CHECKING:
    from pi_subagents.core.preset.preset import Preset
    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.settings import Settings
    from pi_subagents.core.task.request import Task
    from pi_subagents.view.window import Window


@value
class PresetUse:
    """Which preset a run works with, from where, and with which model."""

    preset: Preset
    source: str  # global or project
    requested_model: str | None
    resolved_model: str | None


@value
class Preparation:
    """What a task needs beyond its prompt."""

    profile: Profile | None = None
    skill_paths: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    earlier: tuple[RunRecord, ...] = ()  # the runs of the session it continues
    preset: PresetUse | None = None  # then `profile` is what the preset comes to
    detached: bool = False  # a background run, which outlives its caller
    schema: Mapping[str, object] | None = None  # what its answer has to fit
    engine: str = ""  # what kind of child it has; empty: the call's


@value
class PlannedTask:
    """One task with its order; its needs state why it cannot start, where it cannot."""

    index: int
    task: Task  # its profile is the call's, where it names none of its own
    spec: RunSpec
    needs: Preparation = Preparation()
    tool_count: int | None = None  # of its child; None where it has all there are
    kept_in: str = ""  # where its files are, for people


@value
class Update:
    """Something happened in one run: an event, or at the end its result."""

    run: PlannedTask
    what: Event | RunResult


Observer = Callable[[Update], None]


@value
class Delegation:
    """What a delegation came to: results in task order."""

    results: tuple[RunResult, ...]
    windows: tuple[Window, ...]
    settings: Settings

    @property
    def summary(self) -> str:
        """One line per task."""
        return answers.summary_text(self.results, self.windows)

    def to_json(self) -> dict[str, object]:
        """Return the value of the tool `delegate_to_subagents`."""
        return answers.delegation_to_json(self.results, self.windows, self.settings)
