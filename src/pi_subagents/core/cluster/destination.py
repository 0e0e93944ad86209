"""
Where a task runs: on this machine, or with which workers of a cluster.

In: what the task says, and what those do that say nothing.  Out: a Destination.
"""

from __future__ import annotations

from pi_subagents.core.cluster.state import CLUSTER, HERE, tag_of
from pi_subagents.core.runner_names import PROCESS
from pi_subagents.core.value import value


@value
class Destination:
    """A runner, and of one that is elsewhere, which of its machines are meant."""

    runner: str
    tag: str = ""  # empty: on this machine


def destination_of(on: str | None, usual: str) -> Destination:
    """Return where a task runs that says so, or nothing; `usual` is the runner of its call."""
    words = on or usual
    if words == HERE:
        words = PROCESS if tag_of(usual) else usual
    tag = tag_of(words)
    return Destination(CLUSTER, tag) if tag else Destination(words)
