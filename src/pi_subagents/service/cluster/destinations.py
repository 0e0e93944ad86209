"""
Where a task runs: on this machine, or with which workers of a cluster.

In: what the task says, else the call, else the settings.  Out: a Destination.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.cluster.state import CLUSTER, HERE, tag_of
from pi_subagents.core.runner_names import PROCESS
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.task.request import Task
    from pi_subagents.service.call import CallContext


@value
class Destination:
    """A runner, and of one that is elsewhere, which of its machines are meant."""

    runner: str
    tag: str = ""  # empty: on this machine


def destination_of(task: Task | None, context: CallContext) -> Destination:
    """Return where a task runs; without one, where those run that do not say it themselves."""
    usual = context.options.get("runner") or context.settings.runner
    words = (task.on if task else None) or usual
    if words == HERE:
        words = PROCESS if tag_of(usual) else usual
    tag = tag_of(words)
    return Destination(CLUSTER, tag) if tag else Destination(words)
