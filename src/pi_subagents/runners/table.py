"""Open a runner, imported when it is used.  A new one is a file, and its name in `RUNNERS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pi_subagents.cluster.address import ClusterAddress
    from pi_subagents.cluster.packs import Pack
    from pi_subagents.core.cluster.order import TravelOrder
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.base import Runner
    from pi_subagents.runners.pool import ChildPool
    from pi_subagents.store.held_runs import HeldRuns
    from pi_subagents.store.run_dir import RunDir


@value
class Departure:
    """A task on its way to a worker."""

    order: TravelOrder
    tag: str  # which workers may have it
    packs: tuple[Pack, ...] = ()  # files that have to be there before it


@value
class ClusterPlace:
    """What a call offers a runner elsewhere."""

    call_id: str
    address: Callable[[], ClusterAddress]  # ClusterError without one
    departure: Callable[[RunSpec], Departure]  # RequestError where something cannot travel
    accept: Callable[[RunDir, RunResult], RunResult]  # looks at the changes that came back


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
    cluster: ClusterPlace | None = None  # what only a runner elsewhere needs


def open_runner(name: str, place: RunnerPlace) -> Runner:
    """Return the runner of that name; SetupError where it cannot work."""
    kind, _, _ = name.partition(":")  # what follows says which of its machines
    runner: Runner = import_module(f"pi_subagents.runners.{kind}").RUNNER(place)
    return runner
