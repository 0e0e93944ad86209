"""
A task of a call with the order it became, and what is told of it while it is carried out.

A planned task pairs what was asked, what it was found to need and the order for its run; it copies
nothing of them.  An observer is told what happens, in order, and is never waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.service.preparation import Preparation

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.task.request import Task


@value
class PlannedTask:
    """One task with its order; what it needs says why it cannot start, where it cannot."""

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
