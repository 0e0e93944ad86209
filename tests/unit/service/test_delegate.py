from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest
from tests.unit.service.fake_runner import FakeRunner, planned, result

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.service.delegation import Observer, PlannedTask, Update
from pi_subagents.service.foreground import delegate_runs

if TYPE_CHECKING:
    from collections.abc import Sequence


async def delegated(
    runs: Sequence[PlannedTask],
    *,
    runner: FakeRunner,
    concurrency: int = 4,
    observe: Observer = lambda _: None,
    stop: StopSwitch | None = None,
) -> tuple[RunResult, ...]:
    return await delegate_runs(
        runs, runner=runner, concurrency=concurrency, observe=observe, stop=stop or StopSwitch()
    )


async def test_results_come_in_task_order_whoever_ends_first() -> None:
    runs, runner = [planned(n, str(9 - n)) for n in range(9)], FakeRunner()
    found = await delegated(runs, runner=runner, concurrency=9)
    assert found == tuple(result(run.spec) for run in runs)


@pytest.mark.parametrize("concurrency", [1, 2, 4, 99])
async def test_never_more_runs_at_once_than_allowed(concurrency: int) -> None:
    runs, runner = [planned(n, "3") for n in range(8)], FakeRunner()
    await delegated(runs, runner=runner, concurrency=concurrency)
    assert (runner.most_active, runner.active) == (min(concurrency, 8), 0)
    assert runner.started == [run.spec.run_id for run in runs]


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_at_least_one_run_at_a_time(concurrency: int) -> None:
    runs, runner = [planned(n) for n in range(3)], FakeRunner()
    found = await delegated(runs, runner=runner, concurrency=concurrency)
    assert (found, runner.most_active) == (tuple(result(run.spec) for run in runs), 1)


async def test_no_runs_give_no_results() -> None:
    assert await delegated([], runner=FakeRunner()) == ()


async def test_a_failed_run_harms_no_other() -> None:
    runs = [planned(0, "5"), planned(1, "fail"), planned(2, "5"), planned(3, refusal="no such cwd")]
    runner = FakeRunner()
    assert await delegated(runs, runner=runner, concurrency=2) == (
        result(runs[0].spec),
        result(runs[1].spec, "failed", "it failed"),
        result(runs[2].spec),
        result(runs[3].spec, "failed", "no such cwd"),
    )
    assert (runner.started, runner.refused) == (["run-0", "run-1", "run-2"], ["run-3"])


async def test_a_runner_that_raises_ends_only_the_run_it_raised_in() -> None:
    runs, runner = [planned(0, "5"), planned(1, "raise"), planned(2, "5")], FakeRunner()
    found = await delegated(runs, runner=runner)
    assert (found[0], found[2]) == (result(runs[0].spec), result(runs[2].spec))
    assert found[1] == result(
        runs[1].spec, "failed",
        "internal error, please report it: ZeroDivisionError: a fault of the runner",
    )  # fmt: skip


async def test_the_observer_is_told_every_event_and_the_result_last() -> None:
    run, runner = planned(0, "2"), FakeRunner()
    heard: list[Update] = []
    await delegated([run], runner=runner, observe=heard.append)
    assert heard == [
        Update(run, ev.StateChanged("running")),
        Update(run, ev.Note("step 0")),
        Update(run, ev.Note("step 1")),
        Update(run, result(run.spec)),
    ]


async def test_a_refused_run_is_told_as_its_result() -> None:
    run, runner = planned(0, refusal="no such cwd"), FakeRunner()
    heard: list[Update] = []
    await delegated([run], runner=runner, observe=heard.append)
    assert heard == [Update(run, result(run.spec, "failed", "no such cwd"))]


async def test_a_stop_ends_what_runs_and_leaves_the_queue_unstarted() -> None:
    runs, runner, stop = [planned(n, "wait") for n in range(5)], FakeRunner(), StopSwitch()

    def on_update(update: Update) -> None:
        if update.run.index == 1 and isinstance(update.what, ev.StateChanged):
            stop.stop()

    found = await delegated(runs, runner=runner, concurrency=2, observe=on_update, stop=stop)
    assert found == (
        result(runs[0].spec, "aborted", "stopped"),
        result(runs[1].spec, "aborted", "stopped"),
        *(result(run.spec, "aborted", "Stopped on request") for run in runs[2:]),
    )
    assert (runner.started, runner.refused) == (["run-0", "run-1"], ["run-2", "run-3", "run-4"])


async def test_a_refusal_is_told_even_after_a_stop() -> None:
    stop, runner, run = StopSwitch(), FakeRunner(), planned(0, refusal="no such cwd")
    stop.stop()
    found = await delegated([run], runner=runner, stop=stop)
    assert found == (result(run.spec, "failed", "no such cwd"),)


async def test_a_cancellation_passes_on_and_every_queued_run_is_recorded() -> None:
    runs, runner = [planned(n, "wait") for n in range(4)], FakeRunner()
    task = asyncio.create_task(delegated(runs, runner=runner, concurrency=2))
    while runner.active < 2:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (runner.active, runner.refused) == (0, ["run-2", "run-3"])


async def test_any_schedule_keeps_the_promises() -> None:
    for seed in range(300):
        await keeps_the_promises(random.Random(seed))


async def keeps_the_promises(chance: random.Random) -> None:
    kinds = [*map(str, range(6)), "fail", "raise", "refuse"]
    wishes = [chance.choice(kinds) for _ in range(chance.randint(1, 16))]
    runs = [
        planned(n, "1" if wish == "refuse" else wish, "no such cwd" if wish == "refuse" else "")
        for n, wish in enumerate(wishes)
    ]
    concurrency = chance.randint(1, 6)
    stop_at = chance.choice([None, chance.randint(1, 30)])
    runner, stop = FakeRunner(), StopSwitch()
    heard: list[Update] = []

    def observe(update: Update) -> None:
        heard.append(update)
        if len(heard) == stop_at:
            stop.stop()

    found = await delegated(
        runs, runner=runner, concurrency=concurrency, observe=observe, stop=stop
    )

    assert [one.run_id for one in found] == [run.spec.run_id for run in runs]
    assert runner.most_active <= concurrency
    assert runner.active == 0
    for run, wish, one in zip(runs, wishes, found, strict=True):
        own = [update.what for update in heard if update.run is run]
        assert own[-1] is one
        assert [what for what in own if isinstance(what, RunResult)] == [one]
        started = run.spec.run_id in runner.started
        assert (len(own) > 1) == started
        natural = {"fail": "failed", "raise": "failed", "refuse": "failed"}.get(wish, "completed")
        assert one.status == natural or (stop_at is not None and one.status == "aborted")
    if stop_at is None:
        assert len(runner.started) == sum(wish != "refuse" for wish in wishes)
