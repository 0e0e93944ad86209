"""Steering over real run directories; the test is the supervisor that listens, or does not."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.fake_control import FakeControl
from tests.fakes.fleet_place import FleetPlace, GoingOn
from tests.fakes.open_files import open_files

from pi_subagents import Steered, StopSwitch, errors, steer
from pi_subagents.api import call_tool
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.store.run_dir import RunDir
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the news are Linux's")

MESSAGE = "Use the other file."


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


class NotedSwitch(StopSwitch):
    """A switch that knows whether everybody who listened has left."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0
        self.left = False

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        leave = super().listen(listener)
        self.listeners += 1

        def noted() -> None:
            leave()
            self.listeners -= 1
            self.left = self.listeners == 0

        return noted


class Listening(FakeControl):
    """A run at work whose supervisor takes commands, in a thread of its own."""

    def __init__(self, run: GoingOn) -> None:
        super().__init__(run.run_dir.desk)
        self.taken: list[tuple[str, str]] = []

    def then(self, what: Callable[[str], object]) -> threading.Event:
        """Do something with the number of the next message."""

        def take(order: str) -> None:
            name, number = order.split()
            self.taken.append((name, self.desk.read_steer(number)))
            what(number)

        return super().then(take)


def at_work(place: FleetPlace, name: str = "look", session: str = "") -> GoingOn:
    run = place.going_on(name, session, childMode="rpc")
    run.does(ev.StateChanged("running"))
    return run


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "steering"]


async def sent(place: FleetPlace, any_id: str, **more: object) -> tuple[str, str]:
    noted = await steer(any_id, MESSAGE, cwd=place.path, env=place.env, **more)  # type: ignore[arg-type]  # by name
    return noted.status, noted.reason


@pytest.mark.parametrize(
    ("status", "reason", "noted"),
    [
        (ev.DELIVERED, "", ("delivered", "")),
        (ev.REFUSED, "pi says no", ("refused", "pi says no")),
    ],
)
async def test_what_the_journal_tells_of_the_message_is_told(
    place: FleetPlace, status: str, reason: str, noted: tuple[str, str]
) -> None:
    run = at_work(place)
    listening = Listening(run)
    done = listening.then(
        lambda number: run.does(
            ev.Steer("0" * 16, ev.DELIVERED, "somebody else's"),
            ev.Steer(number, status, MESSAGE, reason),
        )
    )
    answer = await steer("session-1", MESSAGE, cwd=place.path, env=place.env)
    assert done.wait(PATIENCE_S)
    assert answer == Steered(run.run_dir.run_id, "session-1", "look", *noted, called="look")  # type: ignore[arg-type]  # words
    assert listening.taken == [("steer", MESSAGE)]
    run.ends()


async def test_a_message_that_is_not_read_in_time_is_accepted(place: FleetPlace) -> None:
    run = at_work(place)
    Listening(run)
    after_this_step = ("accepted", service_messages.STEER_AFTER_THIS_STEP)
    assert await sent(place, run.run_dir.run_id, wait_seconds=0) == after_this_step
    assert await sent(place, run.run_dir.run_id, wait_seconds=0.01) == after_this_step
    run.ends()


async def test_whoever_throws_the_switch_waits_no_longer(place: FleetPlace) -> None:
    run = at_work(place)
    stop = NotedSwitch()
    loop = asyncio.get_running_loop()
    done = Listening(run).then(lambda _: loop.call_soon_threadsafe(stop.stop))
    async with asyncio.timeout(PATIENCE_S):
        noted = await sent(place, run.run_dir.run_id, wait_seconds=3600, stop=stop)
    assert done.wait(PATIENCE_S)
    assert noted == ("accepted", service_messages.STEER_AFTER_THIS_STEP)
    assert stop.left
    run.ends()


async def test_a_call_that_is_cancelled_leaves_no_thread_behind(place: FleetPlace) -> None:
    run = at_work(place)
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    done = Listening(run).then(lambda _: loop.call_soon_threadsafe(heard.set))
    call = asyncio.create_task(sent(place, run.run_dir.run_id, wait_seconds=3600))
    async with asyncio.timeout(PATIENCE_S):
        await heard.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    for waiting in threads():
        waiting.join(PATIENCE_S)
    assert threads() == []
    assert done.wait(PATIENCE_S)
    run.ends()


async def test_whoever_waits_keeps_nobody_elses_thread(place: FleetPlace) -> None:
    """asyncio has few, and the end of every delegation needs one."""
    run = at_work(place)
    done = Listening(run).then(lambda number: run.does(ev.Steer(number, ev.DELIVERED, MESSAGE)))
    others = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    busy = loop.run_in_executor(None, others.wait)
    try:
        async with asyncio.timeout(PATIENCE_S):
            assert await sent(place, run.run_dir.run_id) == ("delivered", "")
    finally:
        others.set()
        await busy
        run.ends()
    assert done.wait(PATIENCE_S)


async def test_a_call_that_is_cancelled_at_once_leaves_no_descriptor_behind(
    place: FleetPlace,
) -> None:
    run = at_work(place)
    before = open_files()
    listening = Listening(run)
    call = asyncio.create_task(sent(place, run.run_dir.run_id, wait_seconds=3600))
    await asyncio.sleep(0)  # it has begun
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    for waiting in threads():
        waiting.join(PATIENCE_S)
    listening.close()
    assert open_files() - before == {}
    run.ends()


@pytest.mark.parametrize("end", [GoingOn.ends, GoingOn.dies], ids=["ends", "dies"])
async def test_a_run_that_is_over_before_it_read_the_message_refused_it(
    place: FleetPlace, end: Callable[[GoingOn], None]
) -> None:
    run = at_work(place)
    done = Listening(run).then(lambda _: end(run))
    async with asyncio.timeout(PATIENCE_S):
        noted = await sent(place, run.run_dir.run_id, wait_seconds=3600)
    assert done.wait(PATIENCE_S)
    assert noted == ("refused", core_messages.STEER_TOO_LATE)


async def test_a_lock_that_is_let_go_of_after_the_files_is_waited_for(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = at_work(place)
    os.close(run.lock)
    lock = os.open(run.run_dir.desk.lock, os.O_RDONLY)  # nobody hears of its end
    fcntl.flock(lock, fcntl.LOCK_EX)
    looks = threading.Semaphore(0)
    alive = RunDir.alive

    def look(run_dir: RunDir) -> bool:
        found = alive(run_dir)
        looks.release()
        return found

    def die_slowly(_number: str) -> None:
        run.log.close()
        for _ in range(5):  # the last of these come after the news
            looks.acquire(timeout=PATIENCE_S)
        os.close(lock)

    monkeypatch.setattr(RunDir, "alive", look)
    done = Listening(run).then(die_slowly)
    async with asyncio.timeout(PATIENCE_S):
        noted = await sent(place, run.run_dir.run_id, wait_seconds=3600)
    assert done.wait(PATIENCE_S)
    assert noted == ("refused", core_messages.STEER_TOO_LATE)


async def test_what_the_supervisor_says_last_counts(place: FleetPlace) -> None:
    run = at_work(place)

    def read_and_end(number: str) -> None:
        run.does(ev.Steer(number, ev.DELIVERED, MESSAGE))
        run.ends()

    done = Listening(run).then(read_and_end)
    assert await sent(place, run.run_dir.run_id) == ("delivered", "")
    assert done.wait(PATIENCE_S)


async def test_a_message_for_a_run_that_waits_its_turn_is_kept_for_it(place: FleetPlace) -> None:
    run = place.going_on("look", childMode="rpc", startedAt=None)
    noted = await sent(place, run.run_dir.run_id, wait_seconds=0)
    assert noted == ("accepted", service_messages.STEER_AT_ITS_START)
    (number,) = run.run_dir.desk.waiting_steers()
    assert run.run_dir.desk.read_steer(number) == MESSAGE
    run.ends()


async def test_a_run_at_work_that_nobody_listens_for_keeps_no_message(place: FleetPlace) -> None:
    run = at_work(place)
    noted = await sent(place, run.run_dir.run_id)
    assert noted == ("refused", service_messages.STEER_NOBODY_LISTENS)
    assert run.run_dir.desk.waiting_steers() == []
    run.ends()


async def test_a_message_that_cannot_be_kept_is_refused(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = at_work(place)
    Listening(run)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileCalls, "replace", full)
    noted = await sent(place, run.run_dir.run_id)
    monkeypatch.undo()
    reason = service_messages.steer_not_kept("[Errno 28] No space left on device")
    assert noted == ("refused", reason)
    assert sorted(path.name for path in run.run_dir.desk.path.glob("*steer*")) == []
    run.ends()


async def test_a_link_where_the_run_was_is_not_followed(place: FleetPlace) -> None:
    run = at_work(place)
    Listening(run)
    moved = run.run_dir.path.rename(place.path / "elsewhere")
    run.run_dir.path.symlink_to(moved)
    try:
        for any_id in (run.run_dir.run_id, "session-1"):
            with pytest.raises(errors.SteerTargetNotFound):
                await sent(place, any_id)
    finally:
        run.run_dir.path.unlink()
        moved.rename(run.run_dir.path)
    assert run.run_dir.desk.waiting_steers() == []
    run.ends()


@pytest.mark.parametrize("mode", ["json", None])
async def test_a_child_in_json_mode_is_not_written_to(place: FleetPlace, mode: str | None) -> None:
    run = place.going_on("look", childMode=mode)
    Listening(run)
    assert await sent(place, run.run_dir.run_id) == ("refused", pi_messages.STEER_JSON_MODE)
    assert run.run_dir.desk.waiting_steers() == []
    run.ends()


async def test_a_run_that_is_over_is_told_nothing(place: FleetPlace) -> None:
    run_dir = place.finished("look", status="failed")
    reason = service_messages.steer_after_end("failed", "session-1")
    for any_id in ("session-1", run_dir.run_id, run_dir.run_id[:4]):
        assert await sent(place, any_id) == ("refused", reason)
    assert run_dir.desk.waiting_steers() == []


async def test_of_a_session_the_run_that_goes_on_is_meant(place: FleetPlace) -> None:
    first = at_work(place, session="s")
    second = place.finished("second", "s")
    answer = await steer("s", MESSAGE, wait_seconds=0, cwd=place.path, env=place.env)
    assert answer.run_id == first.run_dir.run_id
    first.ends()
    answer = await steer("s", MESSAGE, cwd=place.path, env=place.env)
    assert (answer.run_id, answer.status) == (second.run_id, "refused")


async def test_a_run_is_found_from_elsewhere(place: FleetPlace, tmp_path: Path) -> None:
    run = at_work(place)
    done = Listening(run).then(lambda number: run.does(ev.Steer(number, ev.DELIVERED, MESSAGE)))
    elsewhere = FleetPlace(tmp_path, place.env)
    assert await sent(elsewhere, run.run_dir.run_id) == ("delivered", "")
    assert done.wait(PATIENCE_S)
    run.ends()


async def test_what_is_not_there_or_not_meant_is_an_error(place: FleetPlace) -> None:
    place.finished("one")
    place.finished("two")
    for any_id in ("nobody", "ffff", "", "../x"):
        with pytest.raises(errors.SteerTargetNotFound) as refusal:
            await sent(place, any_id)
        assert refusal.value.any_id == any_id
    with pytest.raises(errors.RunAmbiguous):
        await sent(place, "000")
    for message in ("", " \n", "x" * (MAX_STEER_BYTES + 1)):
        with pytest.raises(errors.InvalidRequest):
            await steer("session-1", message, cwd=place.path, env=place.env)


async def test_the_tool_refuses_what_is_unknown_and_tells_what_was_refused(
    place: FleetPlace,
) -> None:
    place.finished("look")
    options = {"cwd": place.path, "env": place.env}
    asked = {"sessionId": "session-1", "message": MESSAGE}
    answer = await call_tool("steer_subagent", asked, **options)  # type: ignore[arg-type]  # by name
    assert (answer["isError"], answer["details"]) == (
        False,
        {
            "sessionId": "session-1",
            "runId": f"{1:04x}" + "0" * 28,
            "taskName": "look",
            "status": "refused",
            "reason": service_messages.steer_after_end("completed", "session-1"),
        },
    )
    unknown = await call_tool("steer_subagent", {**asked, "sessionId": "no"}, **options)  # type: ignore[arg-type]  # by name
    assert unknown["isError"] is True
    assert unknown["content"] == [{"type": "text", "text": str(errors.SteerTargetNotFound("no"))}]
