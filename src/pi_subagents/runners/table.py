"""Open a runner, imported when it is used.  A new one is a file, and its name in `RUNNERS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.base import Runner
    from pi_subagents.runners.pool import ChildPool
    from pi_subagents.store.held_runs import HeldRuns


@value
class RunnerPlace:
    """What a call offers its runner; each takes what it needs."""

    cwd: Path
    env: Mapping[str, str]
    held: HeldRuns  # the runs of the call on this machine
    concurrency: int  # runs at once
    pool: ChildPool  # children that may serve several runs
    kind_now: Callable[[RunSpec], str]  # what the kind of its children has become since
    notice: Callable[[str], None]  # shows a text to the caller


def open_runner(name: str, place: RunnerPlace) -> Runner:
    """Return the runner of that name; SetupError where it cannot work."""
    runner: Runner = import_module(f"pi_subagents.runners.{name}").RUNNER(place)
    return runner
