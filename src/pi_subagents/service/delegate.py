"""
Hand planned runs to a runner, a few at a time, and gather their results in task order.

After the first start nothing raises past here but cancellation: each run ends in a result, and
one bad run never harms its siblings.  Runs that a stop finds in the queue are never started.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.stop_switch import RUNNING, StopSwitch
from pi_subagents.service.planned_task import Observer, PlannedTask, Update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.runners.base import Runner


async def delegate_runs(
    runs: Sequence[PlannedTask],
    *,
    runner: Runner,
    concurrency: int,
    observe: Observer,
    stop: StopSwitch,
) -> tuple[RunResult, ...]:
    """Return the result of every run, in the order of the runs."""
    queue = iter(runs)
    tell = _guarded(observe)
    results: dict[int, RunResult] = {}

    async def work() -> None:
        for run in queue:  # shared: each worker takes the next one
            results[run.index] = result = await _execute(run, runner, tell, stop)
            tell(Update(run, result))

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(min(max(concurrency, 1), len(runs))):
                workers.create_task(work())
    finally:
        for run in queue:  # only a cancellation leaves any
            runner.refuse(run.spec, run_messages.STOPPED_ON_REQUEST, aborted=True)
    return tuple(results[run.index] for run in runs)


async def _execute(
    run: PlannedTask, runner: Runner, observe: Observer, stop: StopSwitch
) -> RunResult:
    if run.needs.refusal:
        return runner.refuse(run.spec, run.needs.refusal, aborted=False)
    if stop.level > RUNNING:
        return runner.refuse(run.spec, run_messages.STOPPED_ON_REQUEST, aborted=True)
    try:
        return await runner.run(run.spec, lambda event: observe(Update(run, event)), stop)
    except Exception as error:  # noqa: BLE001 - a fault in one run must not end its siblings
        return runner.refuse(run.spec, core_messages.internal_error(error), aborted=False)


def _guarded(observe: Observer) -> Observer:
    """Keep an observer's own faults from harming runs; the loop's handler reports them."""

    def tell(update: Update) -> None:
        try:
            observe(update)
        except Exception as error:  # noqa: BLE001 - whatever a caller's function may raise
            asyncio.get_running_loop().call_exception_handler(
                {"message": "an observer of a delegation failed", "exception": error}
            )

    return tell
