"""How a run is told to its caller: its journal in turns, and its end though nobody else tells it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.run_places import run_at
from tests.fakes.specs import make_spec

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, encode_entry
from pi_subagents.core.run.result import RunResult
from pi_subagents.runners import messages as runners_messages
from pi_subagents.runners.attached import find_result
from pi_subagents.runners.attachment import AT_ONCE, Attachment
from pi_subagents.store import messages as store_messages
from pi_subagents.store import recovery
from pi_subagents.store.recovery import conclude_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pi_subagents.core.run.events import Event
    from pi_subagents.store.run_dir import RunDir

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
                journal.write(
                    encode_entry(JournalEntry(self._written, 1, ev.Note(str(self._written))))
                )

    def wake(self) -> None:
        os.write(self._wake, b".")

    def go(self) -> None:
        os.close(self._wake)


class Attached(Attachment):
    """A supervisor that needs no letting go."""

    def _release(self) -> None:
        """Nothing is held."""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    run = run_at(tmp_path / ("a" * 32))
    run.path.mkdir()
    made = Supervisor(run)
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
    heard: list[Event] = []
    supervisor.write(MANY)
    with attached(supervisor, heard.append):
        steps = []
        while len(heard) < MANY:
            before = len(heard)
            supervisor.wake()  # nobody gets more for being woken more often
            await asyncio.sleep(0)  # one turn of everybody
            steps.append(len(heard) - before)
        assert max(steps) == AT_ONCE < MANY / 10
        assert heard == notes(1, MANY)
        supervisor.go()


async def test_a_writer_that_is_as_quick_as_we_are_keeps_nobody_from_anything(
    supervisor: Supervisor,
) -> None:
    heard: list[Event] = []

    def read_and_find_more(event: Event) -> None:
        heard.append(event)
        if len(heard) < MANY:  # whoever goes on to the end goes on to here
            supervisor.write(1)

    supervisor.write(1)
    supervisor.wake()
    with attached(supervisor, read_and_find_more):
        await passes(10)
        assert 0 < len(heard) < MANY
        supervisor.go()


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, MANY])
async def test_the_end_is_told_when_everything_else_is(supervisor: Supervisor, count: int) -> None:
    heard: list[Event] = []
    supervisor.write(count)
    supervisor.go()
    with attached(supervisor, heard.append) as it:
        await end_of(it)
        assert heard == notes(1, count)


async def test_what_is_written_between_two_turns_is_told_once_and_in_order(
    supervisor: Supervisor,
) -> None:
    heard: list[Event] = []
    supervisor.write(AT_ONCE + 1)
    supervisor.wake()
    with attached(supervisor, heard.append) as it:
        while not heard:
            await asyncio.sleep(0)
        supervisor.write(3)
        supervisor.wake()
        supervisor.write(2)
        supervisor.go()
        await end_of(it)
        assert heard == notes(1, AT_ONCE + 6)


async def test_a_watcher_that_fails_misses_that_event_and_no_other(supervisor: Supervisor) -> None:
    heard: list[Event] = []
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))

    def fail_once(event: Event) -> None:
        if event == ev.Note("2"):
            raise LookupError
        heard.append(event)

    supervisor.write(4)
    supervisor.go()
    with attached(supervisor, fail_once) as it:
        await end_of(it)
        assert heard == [ev.Note("1"), *notes(3, 4)]
        assert len(faults) == 1


async def test_after_letting_go_nothing_is_told_any_more(supervisor: Supervisor) -> None:
    heard: list[Event] = []
    supervisor.write(MANY)
    supervisor.wake()
    with attached(supervisor, heard.append):
        while not heard:
            await asyncio.sleep(0)
    known = len(heard)
    await passes(5)
    assert known == len(heard) < MANY
    supervisor.go()


# A run whose supervisor went without a word


class Lost:
    """A run that had answered, and whose lock somebody else has."""

    def __init__(self, root: Path) -> None:
        self.dir = run_at(root / ("f" * 32))
        os.close(self.dir.begin({"runId": self.dir.run_id, "name": "lost"}, b""))
        said: list[Event] = [
            ev.AssistantMessage("42", stop_reason="stop"),
            ev.Settled(),
        ]
        with self.dir.events.open("wb") as journal:
            for number, event in enumerate(said, start=1):
                journal.write(encode_entry(JournalEntry(number, 1, event)))
        self._lock = -1

    def lock(self, how: int) -> None:
        self._lock = os.open(self.dir.desk.lock, os.O_RDWR)
        fcntl.flock(self._lock, how)

    def unlock(self) -> None:
        os.close(self._lock)

    def after_first_look(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
        """Let something happen when the caller has found the lock taken."""
        looks: list[RunResult | None] = []

        def look(run_dir: RunDir) -> RunResult | None:
            assert threading.current_thread() is not threading.main_thread()
            looks.append(conclude_lost(run_dir))
            if len(looks) == 1:
                assert looks == [None]
                act()
            return looks[-1]

        monkeypatch.setattr(recovery, "conclude_lost", look)

    async def result(self) -> RunResult:
        spec = make_spec(self.dir.run_id, "", "lost", ("pi",), "/")
        async with asyncio.timeout(PATIENCE_S):
            return await find_result(spec, self.dir)


@pytest.fixture
def lost(tmp_path: Path) -> Lost:
    return Lost(tmp_path)


@pytest.mark.parametrize("how", [fcntl.LOCK_SH, fcntl.LOCK_EX])
async def test_a_lost_run_that_somebody_looks_at_is_concluded_when_he_has_looked(
    lost: Lost, monkeypatch: pytest.MonkeyPatch, how: int
) -> None:
    lost.lock(how)
    lost.after_first_look(monkeypatch, lost.unlock)
    result = await lost.result()
    assert (result.status, result.output) == ("interrupted", "42")
    assert result.notes == (store_messages.NOTE_HAD_ANSWERED,)
    assert lost.dir.read_result() == result


async def test_what_another_recoverer_concludes_is_what_the_caller_tells(
    lost: Lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = RunResult(lost.dir.run_id, "", "lost", "interrupted", error_message="by another")

    def conclude() -> None:
        assert lost.dir.write_result(theirs)
        lost.unlock()

    lost.lock(fcntl.LOCK_EX)
    lost.after_first_look(monkeypatch, conclude)
    assert await lost.result() == theirs == lost.dir.read_result()


async def test_a_lock_that_is_never_let_go_of_does_not_keep_the_caller(
    lost: Lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "TURN_LIMIT_S", 0.05)
    lost.lock(fcntl.LOCK_EX)
    result = await lost.result()
    lost.unlock()
    assert (result.status, result.notes) == ("interrupted", (runners_messages.NOTE_NO_SUPERVISOR,))
    assert lost.dir.read_result() is None, "whoever has the lock is to write it"


async def test_a_lost_run_whose_directory_is_gone_too_is_concluded_in_the_data_directory(
    lost: Lost,
) -> None:
    shutil.rmtree(lost.dir.path)
    result = await lost.result()
    assert (result.status, result.error_message, result.name) == (
        "interrupted", core_messages.INTERRUPTED, "lost",
    )  # fmt: skip
    now = lost.dir.now()
    assert now.path == lost.dir.desk.rescue_place(lost.dir.path)
    assert (now.read_result(), now.read_meta()["name"]) == (result, "lost")
    assert not lost.dir.path.exists()


@pytest.mark.parametrize("what", ["a link", "no result to be read"])
async def test_what_can_never_be_concluded_is_not_waited_for(
    lost: Lost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    moved = tmp_path / "moved"
    match what:
        case "a link":
            lost.dir.path.rename(moved)
            lost.dir.path.symlink_to(moved)
        case _:
            lost.dir.result.write_bytes(b"{")
    looks = []
    monkeypatch.setattr(recovery, "conclude_lost", lambda run: looks.append(conclude_lost(run)))
    assert (await lost.result()).notes == (runners_messages.NOTE_NO_SUPERVISOR,)
    assert looks == [None]
