"""
The runners of a call of which some tasks go to workers: each task has the one it was meant for.

In: a call, its planned tasks, where each is to run.  Out: one Runner.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pi_subagents.cluster.address import cluster_address
from pi_subagents.core.cluster.state import CLUSTER
from pi_subagents.core.runner_names import PROCESS
from pi_subagents.core.value import replace
from pi_subagents.runners.table import ClusterPlace, open_runner
from pi_subagents.service.cluster.travelling import Departures
from pi_subagents.service.cluster.workplaces import accept_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pi_subagents.core.cluster.destination import Destination
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.runners.base import Runner
    from pi_subagents.runners.table import RunnerPlace
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import PlannedTask


def open_runners(
    context: CallContext,
    planned: Sequence[PlannedTask],
    wanted: Mapping[str, Destination],
    place: RunnerPlace,
    *,
    unseen: bool,
) -> Runner:
    """Return what runs each task where it is wanted; ClusterError where no cluster is known."""
    address = cluster_address(context.settings, context.env)
    cluster = ClusterPlace(
        context.call_id,
        lambda: address,
        Departures(context, planned).departure,
        accept_changes,
    )
    names = {
        run_id: PROCESS if unseen and not each.tag else each.runner
        for run_id, each in wanted.items()
    }
    opened = {
        name: open_runner(name, replace(place, cluster=cluster)) for name in set(names.values())
    }
    if len(opened) == 1:
        return opened[CLUSTER]
    return SeveralRunners({run_id: opened[name] for run_id, name in names.items()})


class SeveralRunners:
    """A runner for each run of a call."""

    def __init__(self, by_run: Mapping[str, Runner]) -> None:
        self._by_run = by_run

    @cached_property
    def _runners(self) -> tuple[Runner, ...]:
        return tuple({id(each): each for each in self._by_run.values()}.values())

    def _of(self, runner: Runner, specs: Iterable[RunSpec]) -> list[RunSpec]:
        return [spec for spec in specs if self._by_run.get(spec.run_id) is runner]

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Prepare for the runs of this machine."""
        for runner in self._runners:
            runner.prewarm(self._of(runner, specs), self._of(runner, guessed))

    def expect(self, specs: Iterable[RunSpec]) -> None:
        """Note all runs that are to come, each where it is done."""
        listed = list(specs)
        for runner in self._runners:
            runner.expect(self._of(runner, listed))

    async def run(
        self, spec: RunSpec, on_event: Callable[[Event], None], stop: StopSwitch
    ) -> RunResult:
        """Execute one run where it was meant to be."""
        return await self._by_run[spec.run_id].run(spec, on_event, stop)

    def start(self, spec: RunSpec) -> RunResult | None:
        """Begin a run that outlives its caller."""
        return self._by_run[spec.run_id].start(spec)

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool) -> RunResult:
        """Record that a planned run never started."""
        return self._by_run[spec.run_id].refuse(spec, message, aborted=aborted)

    async def settle(self) -> None:
        """Leave nothing behind."""
        for runner in self._runners:
            await runner.settle()
