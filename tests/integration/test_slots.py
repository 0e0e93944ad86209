"""One limit for all children of this machine, whichever call or background run they belong to."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.processes import parent_of

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

    from pi_subagents.store.run_dir import RunDir


@pytest.fixture
def narrow(place: Workplace) -> Workplace:
    """A machine with room for two children."""
    settings = place.home / ".pi/agent/settings.json"
    settings.write_text('{"subagents": {"max_machine_children": 2}}')
    return place


async def test_two_calls_share_the_places_and_the_third_child_waits(narrow: Workplace) -> None:
    """reference-faults 29: the limit held per call, so two calls had twice as many children."""
    first = narrow.delegate_by_api("a", "b")
    a, b = await narrow.child("a"), await narrow.child("b")
    second = narrow.delegate_by_api("c")
    (waiting,) = [r for r in await runs_of(narrow, 3) if r.read_meta()["name"] == "c"]
    assert (waiting.alive(), waiting.events.exists()) == (True, False)
    await a.answer_and_exit("1")
    c = await narrow.child("c")
    assert narrow.driver.most_at_once == 2
    await b.answer_and_exit("2")
    await c.answer_and_exit("3")
    assert [r.output for r in (*await first.results(), *await second.results())] == ["1", "2", "3"]


async def test_a_child_that_waits_its_turn_is_stopped_without_ever_beginning(
    narrow: Workplace,
) -> None:
    first = narrow.delegate_by_api("a", "b")
    a, b = await narrow.child("a"), await narrow.child("b")
    second = narrow.delegate_by_api("c")
    await runs_of(narrow, 3)
    second.stop()
    result = await second.result()
    assert (result.status, result.error_message) == ("aborted", messages.STOPPED_ON_REQUEST)
    await a.answer_and_exit("1")
    await b.answer_and_exit("2")
    await first.results()
    assert len(narrow.driver.children) == 2


async def test_a_run_that_is_stopped_from_elsewhere_while_it_waits_never_begins(
    narrow: Workplace,
) -> None:
    first = narrow.delegate_by_api("a", "b")
    a, b = await narrow.child("a"), await narrow.child("b")
    second = narrow.delegate_by_api("c")
    (waiting,) = [r for r in await runs_of(narrow, 3) if r.read_meta()["name"] == "c"]
    runs = Runs(narrow.project, narrow.env)
    view = await asyncio.to_thread(runs.stop, runs.find(waiting.run_id), force=False)
    assert (view.status, view.error_message) == ("aborted", messages.STOPPED_ON_REQUEST)
    assert await second.result() == view.result
    await a.answer_and_exit("1")
    await b.answer_and_exit("2")
    await first.results()
    assert len(narrow.driver.children) == 2


async def test_a_supervisor_that_is_killed_gives_its_place_back(narrow: Workplace) -> None:
    first = narrow.delegate_by_api("a", "b")
    a, b = await narrow.child("a"), await narrow.child("b")
    await first.sees(ev.StateChanged("running"), "a")
    second = narrow.delegate_by_api("c")
    os.kill(parent_of(a.pid), signal.SIGKILL)
    c = await narrow.child("c")
    await b.answer_and_exit("2")
    await c.answer_and_exit("3")
    assert (await second.result()).output == "3"
    assert [r.status for r in await first.results()] == ["interrupted", "completed"]


async def runs_of(place: Workplace, count: int) -> list[RunDir]:
    """Return the runs once there are so many."""
    async with asyncio.timeout(20):
        while len(place.run_dirs()) < count:
            await asyncio.sleep(0.01)
    return place.run_dirs()
