"""How the journal of a run is told to its caller: in turns, so that nobody has to wait."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S

from pi_subagents.core import events as ev
from pi_subagents.core.journal import Entry, encode_entry
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs.attached_runner import AT_ONCE, Attachment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pi_subagents.core.events import Event

MANY = 500


class Supervisor:
    """The other side: writes the journal, wakes, goes away."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.wake_end, self._wake = os.pipe()
        self._written = 0

    def write(self, count: int) -> None:
        with self.run_dir.events.open("ab") as journal:
            for _ in range(count):
                self._written += 1
                journal.write(encode_entry(Entry(self._written, 1, ev.Note(str(self._written)))))

    def wake(self) -> None:
        os.write(self._wake, b".")

    def go(self) -> None:
        os.close(self._wake)


class Attached(Attachment):
    """A supervisor that needs no letting go."""

    def _let_go(self) -> None:
        """Nothing is held."""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(RunDir(tmp_path))
    yield made
    os.close(made.wake_end)


@contextmanager
def attached(supervisor: Supervisor, on_event: Callable[[Event], None]) -> Iterator[Attached]:
    made = Attached(
        wake=supervisor.wake_end, commands=-1, run_dir=supervisor.run_dir, on_event=on_event
    )
    try:
        yield made
    finally:
        made.close()


def notes(first: int, last: int) -> list[Event]:
    return [ev.Note(str(number)) for number in range(first, last + 1)]


async def end_of(attached: Attached) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await attached.ended


async def passes(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_long_journal_leaves_everybody_else_their_turn(supervisor: Supervisor) -> None:
    told: list[Event] = []
    supervisor.write(MANY)
    with attached(supervisor, told.append):
        steps = []
        while len(told) < MANY:
            before = len(told)
            supervisor.wake()  # nobody gets more for being woken more often
            await asyncio.sleep(0)  # one turn of everybody
            steps.append(len(told) - before)
        assert max(steps) == AT_ONCE < MANY / 10
        assert told == notes(1, MANY)
        supervisor.go()


async def test_a_writer_that_is_as_quick_as_we_are_keeps_nobody_from_anything(
    supervisor: Supervisor,
) -> None:
    told: list[Event] = []

    def read_and_find_more(event: Event) -> None:
        told.append(event)
        if len(told) < MANY:  # whoever goes on to the end goes on to here
            supervisor.write(1)

    supervisor.write(1)
    supervisor.wake()
    with attached(supervisor, read_and_find_more):
        await passes(10)
        assert 0 < len(told) < MANY
        supervisor.go()


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, MANY])
async def test_the_end_is_told_when_everything_else_is(supervisor: Supervisor, count: int) -> None:
    told: list[Event] = []
    supervisor.write(count)
    supervisor.go()
    with attached(supervisor, told.append) as it:
        await end_of(it)
        assert told == notes(1, count)


async def test_what_is_written_between_two_turns_is_told_once_and_in_order(
    supervisor: Supervisor,
) -> None:
    told: list[Event] = []
    supervisor.write(AT_ONCE + 1)
    supervisor.wake()
    with attached(supervisor, told.append) as it:
        while not told:
            await asyncio.sleep(0)
        supervisor.write(3)
        supervisor.wake()
        supervisor.write(2)
        supervisor.go()
        await end_of(it)
        assert told == notes(1, AT_ONCE + 6)


async def test_a_watcher_that_fails_misses_that_event_and_no_other(supervisor: Supervisor) -> None:
    told: list[Event] = []
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))

    def fail_once(event: Event) -> None:
        if event == ev.Note("2"):
            raise LookupError
        told.append(event)

    supervisor.write(4)
    supervisor.go()
    with attached(supervisor, fail_once) as it:
        await end_of(it)
        assert told == [ev.Note("1"), *notes(3, 4)]
        assert len(faults) == 1


async def test_after_letting_go_nothing_is_told_any_more(supervisor: Supervisor) -> None:
    told: list[Event] = []
    supervisor.write(MANY)
    supervisor.wake()
    with attached(supervisor, told.append):
        while not told:
            await asyncio.sleep(0)
    known = len(told)
    await passes(5)
    assert known == len(told) < MANY
    supervisor.go()
