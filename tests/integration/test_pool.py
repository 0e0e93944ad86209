"""Children that are started before they are wanted, or wait for another call: who lives, and how long."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.workplace import answered, comparable

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.task.request import Task
from pi_subagents.runners import pool as pools
from pi_subagents.runners import room
from pi_subagents.runners.pool import Held
from pi_subagents.service.call import Pool
from pi_subagents.store.desk import STOPPED, Desk
from pi_subagents.store.run_dir import RunDir
from pi_subagents.system.home import data_dir
from pi_subagents.system.identity import process_state
from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.store.local_order import LocalOrder


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


async def waiting(place: Workplace, pool: Pool, prompt: str) -> FakeProcess:
    """Let one call come and go; return its child, which waits and still does as it is told."""
    work = call(place, pool, prompt)
    child = await place.child(prompt)
    await child.say("done")
    await child.settle()
    await work.results()
    return child


given = Held.give


def give_and_stop(held: Held, order: LocalOrder) -> None:
    given(held, order)
    held.channel.sendall(b"stop\n")


def give_and_go(held: Held, order: LocalOrder) -> None:
    held.process.send_signal(signal.SIGSTOP)  # it finds both at once
    given(held, order)
    held.release()
    held.process.send_signal(signal.SIGCONT)


def give_and_signal(held: Held, order: LocalOrder) -> None:
    held.process.send_signal(signal.SIGSTOP)  # it finds both at once
    given(held, order)
    held.process.send_signal(signal.SIGTERM)
    held.process.send_signal(signal.SIGCONT)


def give_what_is_over(held: Held, order: LocalOrder) -> None:
    spec = order.spec
    stopped = RunResult(spec.run_id, spec.session_id, spec.name, "aborted", error_message="stopped")
    run_dir = RunDir(Path(order.place.run_dir), Desk(Path(order.place.desk)))
    assert run_dir.desk.take_turn(STOPPED)
    run_dir.write_result(stopped)
    given(held, order)


async def seen_off(held: Held) -> None:
    """Let a supervisor that waits go; the pool finds out when it looks for one."""
    held.release()
    await asyncio.to_thread(held.wait)


def supervisor_of(child: FakeProcess) -> int:
    found = process_state(child.pid)
    assert found is not None
    return found.parent


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
    ready = [held.process.pid for held in pool.waiting]
    assert len(set(ready)) == 3
    names = ["two", "three", "four"]
    work = call(place, pool, *names, concurrency=3)
    children = [await place.child(name) for name in names]
    assert {supervisor_of(child) for child in children} == set(ready)
    for child in children:
        await child.answer_and_exit("done")
    await work.results()


async def together(place: Workplace, pool: Pool, *names: str) -> dict[str, int]:
    """Let a call come and go whose tasks are at work at once; return the supervisor of each."""
    work = call(place, pool, *names, concurrency=len(names))
    children = {name: await place.child(name) for name in names}
    found = {name: supervisor_of(child) for name, child in children.items()}
    for child in children.values():
        await child.say("done")
        await child.settle()
    await work.results()
    return found


async def test_those_that_worked_for_a_call_wait_a_while_for_the_next_one(
    place: Workplace, pool: Pool
) -> None:
    first = await together(place, pool, "one", "two", "three")
    second = await together(place, pool, "four", "five", "six")
    assert set(second.values()) == set(first.values())


async def test_those_that_no_call_wanted_for_a_while_go_but_for_as_many_as_a_host_keeps(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await together(place, pool, "one", "two", "three")
    *others, last = pool.waiting
    monkeypatch.setattr(pools, "LINGER_S", 0.0)
    await pool.settle()
    gone = [await asyncio.to_thread(held.process.wait, PATIENCE_S) for held in others]
    assert (gone, pool.waiting) == ([0, 0], (last,))
    assert last.process.poll() is None


async def test_no_more_than_a_few_wait_because_they_worked(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "MOST_LINGERING", 2)
    await together(place, pool, "one", "two", "three")
    assert len(pool.waiting) == 2


async def test_a_host_that_wants_none_keeps_none(place: Workplace, pool: Pool) -> None:
    place.settings(warm_children=0)
    await served(place, pool, "one")
    assert pool.waiting == ()


async def test_a_child_of_another_kind_takes_the_place_of_the_one_that_waits(
    place: Workplace, pool: Pool
) -> None:
    await served(place, pool, "here")
    (old,) = pool.waiting
    (place.project / "sub").mkdir()
    work = call(place, pool, Task("there", "there", cwd=str(place.project / "sub")))
    child = await place.child("there")
    new = supervisor_of(child)
    await child.answer_and_exit("done")
    await work.results()
    assert [held.process.pid for held in pool.waiting] == [new]
    assert old.process.poll() is not None


async def test_a_child_that_nobody_wanted_for_long_is_let_go(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served(place, pool, "one")
    (held,) = pool.waiting
    monkeypatch.setattr(pools, "IDLE_LIMIT_S", 0.0)
    await pool.settle()
    assert await asyncio.to_thread(held.process.wait, PATIENCE_S) == 0
    assert pool.waiting == ()


async def test_whoever_goes_is_seen_off_whatever_else_waits_and_whoever_asked(
    place: Workplace, pool: Pool
) -> None:
    """A cancelled caller leaves no zombie, even where asyncio has no thread to spare."""
    await served(place, pool, "one")
    (held,) = pool.waiting
    others = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    busy = loop.run_in_executor(None, others.wait)
    pool.warm = 0
    settling = asyncio.create_task(pool.settle())
    await asyncio.sleep(0)  # it has begun
    settling.cancel()
    await asyncio.wait([settling])
    for thread in threading.enumerate():
        if thread.name == "leaving":
            thread.join(PATIENCE_S)
    others.set()
    await busy
    assert held.process.poll() == 0
    assert held.process.stdout is not None
    assert held.process.stdout.closed


async def test_no_child_waits_where_memory_is_short(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MIN_FREE_BYTES", 1 << 60)
    await served(place, pool, "one")
    assert pool.waiting == ()


async def test_there_are_never_more_children_ready_than_work_at_once(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[LocalOrder] = []

    def note(held: Held, order: LocalOrder) -> None:
        orders.append(order)
        given(held, order)

    monkeypatch.setattr(Held, "give", note)
    await served(place, pool, "one")
    pool.prewarm_all(orders * 3, [], place.env, most=2)
    assert len(pool.waiting) == 2
    monkeypatch.setattr(room, "MIN_FREE_BYTES", 1 << 60)
    pool.prewarm_all(orders * 3, [], place.env, most=3)
    assert len(pool.waiting) == 2


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
    (prewarmed,) = pool.waiting
    await first.answer_and_exit("1")
    second = await place.child("second")
    assert supervisor_of(second) == prewarmed.process.pid
    await second.answer_and_exit("2")
    assert [result.output for result in await work.results()] == ["1", "2"]


async def test_nothing_is_prewarmed_where_a_child_of_that_kind_works(
    place: Workplace, pool: Pool
) -> None:
    work = call(place, pool, "first", "second")
    first = await place.child("first")
    await first.do("begin")
    await work.sees(ev.UserMessage, "first")
    assert pool.waiting == ()
    await first.answer_and_exit("1")
    second = await answer(place, "second")
    assert second.pid == first.pid
    await work.results()


async def test_a_child_prewarmed_that_is_never_wanted_is_let_go(
    place: Workplace, pool: Pool
) -> None:
    place.settings(warm_children=0)
    (place.project / "sub").mkdir()
    work = call(place, pool, "first", Task("second", "second", cwd=str(place.project / "sub")))
    first = await place.child("first")
    await first.do("begin")
    await work.sees(ev.UserMessage, "first")
    (prewarmed,) = pool.waiting
    work.stop()
    assert [result.status for result in await work.results()] == ["aborted", "aborted"]
    assert prewarmed.process.poll() == 0
    assert len(place.driver.children) == 1


async def test_a_stop_that_comes_right_behind_the_order_is_not_lost(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await served(place, pool, "first")
    monkeypatch.setattr(Held, "give", give_and_stop)
    assert (await call(place, pool, "second").result()).status == "aborted"


@pytest.mark.parametrize("end", [give_and_stop, give_what_is_over])
async def test_a_run_that_ends_before_it_begins_leaves_the_child_that_was_prewarmed_free(
    place: Workplace,
    pool: Pool,
    monkeypatch: pytest.MonkeyPatch,
    end: Callable[[Held, LocalOrder], None],
) -> None:
    place.settings(warm_children=2, max_machine_children=1)
    await served(place, pool, "first")
    used, prewarmed = pool.waiting
    await seen_off(used)
    slot = acquire_slot(str(data_dir(place.env) / "slots"), 1)  # so that the run has to wait
    assert slot is not None
    with monkeypatch.context() as patched:
        patched.setattr(Held, "give", end)
        assert (await call(place, pool, "second").result()).status == "aborted"
    os.close(slot)
    kept, newcomer = pool.waiting
    assert kept is prewarmed
    await seen_off(newcomer)
    work = call(place, pool, "third")
    third = await place.child("third")
    assert supervisor_of(third) == prewarmed.process.pid
    await third.answer_and_exit("done")
    assert comparable(await work.result()) == answered("third", "done")


async def test_a_child_that_dies_while_it_waits_leaves_nothing_and_is_replaced(
    place: Workplace, pool: Pool
) -> None:
    first = await waiting(place, pool, "first")
    supervisor = supervisor_of(first)
    await first.fork_setsid()
    grandchild = await place.driver.grandchild()
    first.signal(signal.SIGKILL)
    await grandchild.gone()
    work = call(place, pool, "second")
    second = await place.child("second")
    assert second.pid != first.pid
    assert supervisor_of(second) == supervisor, "whoever is given a run has to be there for it"
    await second.answer_and_exit("done")
    assert comparable(await work.result()) == answered("second", "done")


async def test_a_signal_that_comes_with_an_order_stops_its_run(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await waiting(place, pool, "first")
    monkeypatch.setattr(Held, "give", give_and_signal)
    result = await call(place, pool, "second").result()
    assert (result.status, result.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)


async def test_a_caller_that_goes_while_an_unfit_child_is_let_go_is_missed(
    place: Workplace, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await waiting(place, pool, "first")
    await first.write(b"half a line", until_read=True)
    await first.exit(0)  # once its input has ended
    monkeypatch.setattr(Held, "give", give_and_go)
    result = await call(place, pool, "second").result()
    assert (result.status, result.error_message) == ("interrupted", core_messages.INTERRUPTED)
