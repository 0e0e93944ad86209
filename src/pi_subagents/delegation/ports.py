"""
What delegation needs of the world, and the values that cross its border.

A Runner executes one planned run to its end and always has a result to tell; an Observer is told
what happens, in order, and is never waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.events import Event
    from pi_subagents.core.profile import Profile
    from pi_subagents.core.request import Task
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch


@value
class PlannedRun:
    """One task with its ids; `refusal` says why it cannot start, where it cannot."""

    index: int
    task: Task
    spec: RunSpec
    refusal: str = ""
    profile_name: str = ""  # as it was asked for; `profile` only if there is one
    profile: Profile | None = None


@value
class Update:
    """Something happened in one run: an event, or at the end its result."""

    run: PlannedRun
    what: Event | RunResult


Observer = Callable[[Update], None]


class Runner(Protocol):
    """Where supervisors are started."""

    async def run(
        self, spec: RunSpec, on_event: Callable[[Event], None], stop: StopSwitch
    ) -> RunResult:
        """Execute one run; return its result however it ends."""
        ...

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool) -> RunResult:
        """Record that a planned run never started, and return that as its result."""
        ...
