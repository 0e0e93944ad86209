"""Children that are started before they are wanted, or wait for another call: who lives, and how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.core import events as ev
from pi_subagents.core.request import Task
from pi_subagents.procs import pool as pools
from pi_subagents.procs.identity import process_stat
from pi_subagents.procs.pool import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool() as made:
        yield made


def call(place: Workplace, pool: Pool, *tasks: Task | str, concurrency: int = 1) -> Delegating:
    return place.delegate_by_api(*tasks, pool=pool, concurrency=concurrency, profile=None)


async def answer(place: Workplace, prompt: str) -> FakeProcess:
    child = await place.child(prompt)
    await child.answer_and_exit(f"done: {prompt}")
    return child


async def served(place: Workplace, pool: Pool, prompt: str) -> FakeProcess:
    """Let one call come and go; return the child that did its task."""
    work = call(place, pool, prompt)
    child = await answer(place, prompt)
    await work.results()
    return child


def supervisor_of(child: FakeProcess) -> int:
    found = process_stat(child.pid)
    assert found is not None
    return found[0]


async def test_a_child_waits_for_the_next_call_of_its_host(place: Workplace, pool: Pool) -> None:
    first = await served(place, pool, "one")
    work = call(place, pool, "two")
    second = await answer(place, "two")
    assert (await work.result()).output == "done: two"
    assert second.pid == first.pid


async def test_a_host_has_as_many_children_ready_as_it_was_told_to(
    place: Workplace, pool: Pool
) -> None:
    place.settings(warm_children=3)
    await served(place, pool, "one")
    ready = [held.process.pid for held in pool._idle]
    assert len(set(ready)) == 3
    names = ["two", "three", "four"]
    work = call(place, pool, *names, concurrency=3)
    children = [await place.child(name) for name in names]
    assert {supervisor_of(child) for child in children} == set(ready)
    for child in children:
        await child.answer_and_exit("done")
    await work.results()


async def test_a_host_that_wants_none_keeps_none(place: Workplace, pool: Pool) -> None:
    place.settings(warm_children=0)
    await served(place, pool, "one")
    assert pool._idle == []


async def test_a_child_of_another_kind_takes_the_place_of_the_one_that_waits(
    place: Workplace, pool: Pool
) -> None:
    await served(place, pool, "here")
    (old,) = pool._idle
    (place.project / "sub").mkdir()
    work = call(place, pool, Task("there", "there", cwd=str(place.project / "sub")))
    child = await place.child("there")
    new = supervisor_of(child)
    await child.answer_and_exit("done")
    await work.results()
    assert [held.process.pid for held in pool._idle] == [new]
    assert old.process.poll() is not None


async def test_a_child_that_nobody_wanted_for_long_is_let_go(place: Workplace, pool: Pool) -> None:
    await served(place, pool, "one")
    (held,) = pool._idle
    pool._expire()
    assert pool._idle == []
    await pool._seeing_off
    assert held.process.poll() == 0


async def test_no_child_waits_where_memory_is_short(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "MIN_FREE_BYTES", 1 << 60)
    await served(place, pool, "one")
    assert pool._idle == []


async def test_there_are_never_more_children_ready_than_work_at_once(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served(place, pool, "one")
    assert pool._last is not None
    spec, env = pool._last
    pool.make_ready([spec] * 3, env, most=2)
    assert len(pool._idle) == 2
    monkeypatch.setattr(pools, "MIN_FREE_BYTES", 1 << 60)
    pool.make_ready([spec] * 3, env, most=3)
    assert len(pool._idle) == 2


async def test_while_a_task_waits_its_child_is_started_if_none_will_be_free(
    place: Workplace, pool: Pool
) -> None:
    place.settings(warm_children=0)
    (place.project / "sub").mkdir()
    elsewhere = Task("second", "second", cwd=str(place.project / "sub"))
    work = call(place, pool, "first", elsewhere)
    first = await place.child("first")
    await first.do("begin")
    await work.sees(ev.UserMessage, "first")
    (ahead,) = pool._idle
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert supervisor_of(second) == ahead.process.pid
    await second.answer_and_exit("2")
    assert [result.output for result in await work.results()] == ["1", "2"]


async def test_nothing_is_started_ahead_where_a_child_of_that_kind_works(
    place: Workplace, pool: Pool
) -> None:
    work = call(place, pool, "first", "second")
    first = await place.child("first")
    await first.do("begin")
    await work.sees(ev.UserMessage, "first")
    assert pool._idle == []
    await first.answer_and_exit("1")
    second = await answer(place, "second")
    assert second.pid == first.pid
    await work.results()


async def test_a_child_started_ahead_that_is_never_wanted_is_let_go(
    place: Workplace, pool: Pool
) -> None:
    place.settings(warm_children=0)
    (place.project / "sub").mkdir()
    work = call(place, pool, "first", Task("second", "second", cwd=str(place.project / "sub")))
    first = await place.child("first")
    await first.do("begin")
    await work.sees(ev.UserMessage, "first")
    (ahead,) = pool._idle
    work.stop()
    assert [result.status for result in await work.results()] == ["aborted", "aborted"]
    assert ahead.process.poll() == 0
    assert len(place.driver.children) == 1


async def test_a_stop_that_comes_right_behind_the_order_is_not_lost(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served(place, pool, "first")
    given = pools.Held.give

    def give_and_stop(held: pools.Held, spec: object) -> None:
        given(held, spec)  # type: ignore[arg-type]  # as it came
        held.channel.sendall(b"stop\n")

    monkeypatch.setattr(pools.Held, "give", give_and_stop)
    assert (await call(place, pool, "second").result()).status == "aborted"
