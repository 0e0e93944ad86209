"""
What every runner promises, whatever it is behind the door: real ones, and the fakes that stand in.

Each kit opens a runner and makes orders for it; the same suite runs over all of them.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Protocol

import pytest
from tests.fakes.call_contexts import call_context
from tests.fakes.cluster_worker import worker
from tests.fakes.driver import FAKE_PI, FAKE_PI_COMMAND, PATIENCE_S
from tests.fakes.pi_calls import pi_call
from tests.fakes.private_tmux import needs_tmux, private_tmux
from tests.faults.simulation import PretendedChild, PretendingRunner
from tests.unit.service.fake_runner import FakeRunner, planned

from pi_subagents.core.cluster.state import CLUSTER
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import changed
from pi_subagents.core.runner_names import RUNNERS
from pi_subagents.core.settings import Settings
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.task.request import DelegateRequest, Task
from pi_subagents.runners.pool import ChildPool
from pi_subagents.runners.table import ClusterPlace, RunnerPlace, open_runner
from pi_subagents.service.cluster.refreshing import refresh
from pi_subagents.service.cluster.travelling import Departures
from pi_subagents.service.delegation import Preparation
from pi_subagents.service.plan import plan_runs
from pi_subagents.store.held_runs import HeldRuns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.cluster_server import TestCluster
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.base import Runner
    from pi_subagents.service.delegation import PlannedTask


class Kit(Protocol):
    """A runner, orders for it, and hands that let its children act."""

    runner: Runner

    def order(self, name: str, *, attached: bool = True, stays: bool = False) -> RunSpec: ...

    async def answer(self, name: str) -> None: ...

    async def is_at_work(self, name: str) -> None: ...

    async def goes_on(self, spec: RunSpec) -> None: ...


class LocalKit:
    """A runner of this machine, with the fake child that does as it is told."""

    def __init__(self, place: Workplace, name: str, env: dict[str, str]) -> None:
        self._place = place
        self._held = HeldRuns(place.store)
        everything = {**place.env, **env}
        self.runner: Runner = open_runner(
            name,
            RunnerPlace(
                cwd=place.project,
                env=everything,
                held=self._held,
                concurrency=4,
                pool=ChildPool(),
                kind_now=lambda spec: spec.reuse.kind,
                notice=lambda _: None,
            ),
        )

    def order(self, name: str, *, attached: bool = True, stays: bool = False) -> RunSpec:
        del stays
        place, settings = self._place, Settings()
        engine = pi_call(FAKE_PI, settings=settings)
        around = call_context(place.project, place.store, self._held, engine, settings)
        request = DelegateRequest((Task(name, name),))
        (run,) = plan_runs(request, around, [Preparation(detached=not attached)])
        return run.spec

    async def answer(self, name: str) -> None:
        await (await self._place.child(name)).answer_and_exit("done")

    async def is_at_work(self, name: str) -> None:
        await (await self._place.child(name)).echo()

    async def goes_on(self, spec: RunSpec) -> None:
        run_dir = self._place.store.run_dir(spec.run_id)
        assert run_dir.alive()
        await self.answer(spec.name)
        await asyncio.to_thread(run_dir.desk.wait_for_end, 10.0)
        result = run_dir.read_result()
        assert result is not None
        assert (result.run_id, result.status) == (spec.run_id, "completed")


class FakeKit:
    """The runner without processes that unit tests use."""

    def __init__(self, runner: FakeRunner) -> None:
        self._runner = runner
        self.runner: Runner = runner

    def order(self, name: str, *, attached: bool = True, stays: bool = False) -> RunSpec:
        del name, attached
        return planned(0, "wait" if stays else "2").spec

    async def answer(self, name: str) -> None:
        """It answers by itself."""

    async def is_at_work(self, name: str) -> None:
        del name
        while not self._runner.active:
            await asyncio.sleep(0)

    async def goes_on(self, spec: RunSpec) -> None:
        assert self._runner.started == [spec.run_id]


class SimulationKit(FakeKit):
    """The runner of simulated time, on a clock that does not jump."""

    def __init__(self) -> None:
        self._children: dict[str, PretendedChild] = {}
        super().__init__(PretendingRunner(self._children))

    def order(self, name: str, *, attached: bool = True, stays: bool = False) -> RunSpec:
        spec = changed(super().order(name, attached=attached), timeout_s=PATIENCE_S)
        made = PretendedChild.that_stays if stays else PretendedChild.that_answers
        self._children[spec.run_id] = made()
        return spec


class ClusterKit(LocalKit):
    """The runner whose supervisors are those of a worker, which shares a database with it."""

    def __init__(self, place: Workplace, cluster: TestCluster) -> None:
        self._place = place
        self._held = HeldRuns(place.store)
        self._settings = Settings()
        self._around = call_context(
            place.project, place.store, self._held, pi_call(FAKE_PI), self._settings
        )
        self._planned: dict[str, PlannedTask] = {}
        address = cluster.address("caller")
        opened = RunnerPlace(
            cwd=place.project,
            env=place.env,
            held=self._held,
            concurrency=4,
            pool=ChildPool(),
            kind_now=lambda spec: spec.reuse.kind,
            notice=lambda _: None,
            cluster=ClusterPlace(
                self._around.call_id,
                lambda: address,
                lambda spec: Departures(self._around, tuple(self._planned.values())).departure(
                    spec
                ),
                lambda _, result: result,
            ),
        )
        self.runner = open_runner("cluster", opened)

    def order(self, name: str, *, attached: bool = True, stays: bool = False) -> RunSpec:
        del stays
        request = DelegateRequest((Task(name, name, on="cluster"),))
        (run,) = plan_runs(request, self._around, [Preparation(detached=not attached)])
        self._planned[run.spec.run_id] = run
        return run.spec

    async def goes_on(self, spec: RunSpec) -> None:
        run_dir = self._place.store.run_dir(spec.run_id)
        assert run_dir.alive()
        await self.answer(spec.name)
        look = partial(
            refresh, [run_dir], self._place.project,
            {**self._place.env, "PI_SUBAGENTS_CLUSTER": self.address},
        )  # fmt: skip
        while run_dir.alive():
            await asyncio.to_thread(look)
        result = run_dir.read_result()
        assert result is not None
        assert (result.run_id, result.status) == (spec.run_id, "completed")

    address = ""


TMUX = "tmux"
HERE = [name for name in RUNNERS if name != CLUSTER]


@pytest.fixture(
    params=[
        *(pytest.param(name, marks=[needs_tmux] * (name == TMUX)) for name in HERE),
        CLUSTER,
        "fake",
        "simulation",
    ]
)
def kit(request: pytest.FixtureRequest, place: Workplace, tmp_path: Path) -> Iterator[Kit]:
    with ExitStack() as resources:
        if request.param == CLUSTER:
            cluster: TestCluster = request.getfixturevalue("cluster")
            own = {name: each for name, each in place.env.items() if name.startswith("FAKE_")}
            text = cluster.text("worker")
            resources.enter_context(worker(tmp_path, text, "w1", pi=FAKE_PI_COMMAND, variables=own))
            there = ClusterKit(place, cluster)
            there.address = cluster.text("caller")
            yield there
            return
        if request.param == "fake":
            yield FakeKit(FakeRunner())
            return
        if request.param == "simulation":
            yield SimulationKit()
            return
        env = {}
        if request.param == TMUX:
            env = resources.enter_context(private_tmux()).env
        yield LocalKit(place, request.param, env)


async def test_a_run_tells_what_happens_and_then_how_it_ended(kit: Kit) -> None:
    spec, seen = kit.order("one"), list[ev.Event]()
    kit.runner.expect([spec])
    running = asyncio.create_task(kit.runner.run(spec, seen.append, StopSwitch()))
    await kit.answer("one")
    result = await running
    await kit.runner.settle()
    assert (result.run_id, result.session_id, result.name, result.status) == (
        spec.run_id, spec.session_id, spec.name, "completed",
    )  # fmt: skip
    assert ev.StateChanged("running") in seen


@pytest.mark.parametrize("throw", ["stop", "force"])
async def test_a_thrown_switch_ends_the_run(kit: Kit, throw: str) -> None:
    spec, switch = kit.order("one", stays=True), StopSwitch()
    running = asyncio.create_task(kit.runner.run(spec, lambda _: None, switch))
    await kit.is_at_work("one")
    getattr(switch, throw)()
    assert (await running).status == "aborted"
    await kit.runner.settle()


@pytest.mark.parametrize(("aborted", "status"), [(True, "aborted"), (False, "failed")])
async def test_a_refused_run_has_a_result_of_its_own(
    kit: Kit, *, aborted: bool, status: str
) -> None:
    spec = kit.order("one")
    result = kit.runner.refuse(spec, "no such place", aborted=aborted)
    assert (result.run_id, result.status, result.error_message) == (
        spec.run_id, status, "no such place",
    )  # fmt: skip


async def test_a_run_that_is_started_goes_on_without_its_caller(kit: Kit) -> None:
    spec = kit.order("alone", attached=False)
    assert kit.runner.start(spec) is None
    await kit.runner.settle()
    await kit.goes_on(spec)


async def test_what_is_made_ready_and_never_comes_is_no_trouble(kit: Kit) -> None:
    spec = kit.order("early")
    kit.runner.prewarm([spec], [])
    await kit.runner.settle()
    await kit.runner.settle()
    assert kit.runner.refuse(spec, "not wanted", aborted=True).status == "aborted"
