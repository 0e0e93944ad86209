"""Supervisors that are up before there is a run for them: who takes them, and that none is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.integration.test_pool import supervisor_of

from pi_subagents import launch
from pi_subagents.core.liveness import Liveness
from pi_subagents.engines.offline_model.script import parse_script_text
from pi_subagents.errors import StoreUnwritable
from pi_subagents.procs.recovery import liveness_of
from pi_subagents.procs.spares import Spares, spare_supervisors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakes.workplace import Delegating, Workplace


@pytest.fixture
def spares(place: Workplace) -> Iterator[Spares]:
    with spare_supervisors(2, place.env) as made:
        yield made


def pids(spares: Spares) -> list[int]:
    return [process.pid for process, _ in spares._waiting]


def call(place: Workplace, spares: Spares, *tasks: str, **options: Any) -> Delegating:
    return place.delegate_by_api(*tasks, **{"spares": spares, "profile": None, **options})


def noted_at_planning(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return who has started a child by the time that runs are planned."""
    plan = launch.plan
    waiting: list[int] = []

    def noting(ground: launch.Ground, *given: Any) -> Any:
        waiting.extend(held.process.pid for held in ground.pool._idle)
        return plan(ground, *given)

    monkeypatch.setattr(launch, "plan", noting)
    return waiting


async def answered(place: Workplace, *names: str) -> set[int]:
    """Let every child say its name, once all are there; return their supervisors."""
    children = {name: await place.child(name) for name in names}
    supervisors = {supervisor_of(child) for child in children.values()}
    for name, child in children.items():
        await child.answer_and_exit(name)
    return supervisors


async def test_the_first_runs_are_done_by_those_that_are_up(
    place: Workplace, spares: Spares
) -> None:
    up = pids(spares)
    work = call(place, spares, "one", "two", "three", concurrency=3)
    used = await answered(place, "one", "two", "three")
    assert [result.output for result in await work.results()] == ["one", "two", "three"]
    assert set(up) < used
    assert len(used) == 3


async def test_children_start_before_their_runs_are_planned(
    place: Workplace, spares: Spares, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = noted_at_planning(monkeypatch)
    up = pids(spares)
    work = call(place, spares, "one", "two", concurrency=2)
    assert await answered(place, "one", "two") == set(up) == set(waiting)
    await work.results()


async def test_no_child_starts_early_for_a_script_that_is_played_run_by_run(
    place: Workplace, spares: Spares, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = noted_at_planning(monkeypatch)
    work = call(place, spares, "one", offline=parse_script_text('[{"text": "unheard"}]'))
    await answered(place, "one")
    await work.results()
    assert waiting == []


async def test_a_run_that_shares_its_child_with_nobody_has_its_lock_all_the_same(
    place: Workplace, spares: Spares
) -> None:
    place.settings(reuse_children=False)
    up = pids(spares)
    work = call(place, spares, "alone")
    child = await place.child("alone")
    assert supervisor_of(child) == up[0]
    assert liveness_of(place.run_dir(child)) is Liveness.ALIVE
    await child.answer_and_exit("done")
    assert (await work.result()).output == "done"


async def test_a_call_that_is_refused_after_all_leaves_nobody_behind(
    place: Workplace, spares: Spares, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def full(ground: launch.Ground, *_: Any) -> Any:
        started.extend(held.process for held in ground.pool._idle)
        raise StoreUnwritable("here", "no space")

    monkeypatch.setattr(launch, "plan", full)
    with pytest.raises(StoreUnwritable):
        await call(place, spares, "one").results()
    assert [process.poll() for process in started] == [0]
    assert len(spares) == 1


async def test_a_supervisor_with_another_environment_is_not_used(
    place: Workplace, spares: Spares
) -> None:
    work = call(place, spares, "one", env={**place.env, "OTHER": "1"})
    assert await answered(place, "one") & set(pids(spares)) == set()
    await work.results()
    assert len(spares) == 2


def test_whoever_is_not_used_is_ended(place: Workplace) -> None:
    with spare_supervisors(2, place.env) as made:
        processes = [process for process, _ in made._waiting]
        assert [process.poll() for process in processes] == [None, None]
    assert [process.poll() for process in processes] == [-9, -9]
    assert len(made) == 0


def test_without_room_for_another_process_there_is_none_to_spare(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr("pi_subagents.procs.spares.start_supervisor", full)
    with spare_supervisors(2, place.env) as made:
        assert made.take(place.env) is None
