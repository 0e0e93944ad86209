"""
Where a task runs: on this machine, or with which workers of a cluster.

In: what the task says, else the call, else the settings.  Out: the name of a runner, perhaps with a
tag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.cluster.state import HERE, tag_of
from pi_subagents.core.runner_names import PROCESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.task.request import Task
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import PlannedTask


def destination_of(task: Task, context: CallContext) -> str:
    """Return the runner of a task: `process`, `tmux` or `cluster`, which may have a tag."""
    usual = context.options.get("runner") or context.settings.runner
    if task.on == HERE:
        return PROCESS if tag_of(usual) else usual
    return task.on or usual


def remote_tag(destination: str) -> str:
    """Return which workers are meant; nothing for this machine."""
    return tag_of(destination) or ""


def concurrency_of(context: CallContext, planned: Sequence[PlannedTask]) -> int:
    """Return how many runs of a call are under way at once: workers have limits of their own."""
    if context.options.get("concurrency") is None and all(
        remote_tag(destination_of(run.task, context)) for run in planned
    ):
        return len(planned)
    return context.concurrency
