"""What a host is told while sub-agents work: no more often, and no faster, than it can take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from pi_subagents.core.value import replace
from pi_subagents.core.window import Window, WindowLine, WindowTitle
from pi_subagents.core.window_delta import WindowDeltas
from pi_subagents.core.window_picture import place_of_lines
from pi_subagents.faces.bridge import live_call
from pi_subagents.faces.bridge.live_call import LiveCall

if TYPE_CHECKING:
    from pi_subagents.delegation.windows import Windows
    from pi_subagents.faces.bridge.peer import Host

PATIENCE_S = 10.0
LINES_AT = place_of_lines(0)


class FakeHost:
    """Takes notifications, and keeps up as fast as a test lets it."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = False

    def notify(self, method: str, params: dict[str, object]) -> None:
        if self.gone:
            raise BrokenPipeError
        self.told.put_nowait((method, params))

    async def drain(self) -> None:
        await self.reads.wait()

    async def next(self, method: str) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                name, params = await self.told.get()
                if name == method:
                    return params

    def rest(self) -> list[tuple[str, Any]]:
        return [self.told.get_nowait() for _ in range(self.told.qsize())]


class Shown:
    """Windows as a delegation keeps them."""

    max_lines = 7

    def __init__(self, *windows: Window) -> None:
        self.windows = list(windows)

    def now(self) -> tuple[Window, ...]:
        return tuple(self.windows)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the host's own pace counts."""
    monkeypatch.setattr(live_call, "INTERVAL_S", 0)


async def turns(count: int) -> None:
    """Let everything that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def live(host: FakeHost) -> LiveCall:
    return LiveCall(cast("Host", host), "c1")


def shown(windows: Shown) -> Windows:
    return cast("Windows", windows)


def lines(count: int) -> dict[str, Any]:
    made = tuple(WindowLine(str(n), "text") for n in range(count))
    return {"history": made, "line_count": count}


async def test_what_is_new_is_told_and_nothing_else(at_once: None) -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host) as call:
        call.changed()
        call.show(shown(windows))
        first = await host.next("picture")
        assert first["callId"] == "c1"
        assert first["parts"] == WindowDeltas(7).since(windows.now())
        windows.windows[0] = replace(windows.windows[0], **lines(2))
        call.changed()
        second = await host.next("picture")
        starting = {"at": LINES_AT + 1, "drop": 1, "add": []}
        assert second == {
            "callId": "c1",
            "parts": [{"at": LINES_AT, "add": [["0"], ["1"]]}, starting],
        }
        windows.windows[0] = replace(windows.windows[0], elapsed_ms=9)
        call.changed()
        await turns(10)
    assert host.rest() == []


async def test_seconds_are_told_without_any_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_call, "TICK_S", 0.01)
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host) as call:
        call.show(shown(windows))
        await host.next("picture")
        windows.windows[0] = replace(windows.windows[0], elapsed_ms=1000)
        (header,) = (await host.next("picture"))["parts"]
    assert "1s/600s" in str(header["add"])


async def test_the_end_is_told_once_with_what_was_not_told_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_call, "UPDATE_INTERVAL_S", 0)
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host) as call:
        call.show(shown(windows))
        await host.next("picture")
        windows.windows[0] = replace(windows.windows[0], status="completed", **lines(1))
    ((name, last),) = host.rest()
    assert (name, "update" in last) == ("picture", False)
    assert "Sub-agents: 1 done" in str(last["parts"][0]["add"])


async def test_a_call_that_was_refused_shows_nothing() -> None:
    host = FakeHost()
    async with live(host):
        pass
    assert host.rest() == []


async def test_a_host_that_does_not_read_is_told_the_latest_when_it_does(at_once: None) -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host) as call:
        host.reads.clear()
        call.show(shown(windows))
        await host.next("picture")
        for count in range(1, 100):
            windows.windows[0] = replace(windows.windows[0], **lines(count))
            call.changed()
            await turns(5)
        assert host.rest() == []
        host.reads.set()
        told = await host.next("picture")
        assert told["parts"][0]["add"] == [[str(number)] for number in range(99)]


async def test_a_host_that_is_gone_ends_nothing_but_the_telling() -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with live(host) as call:
        host.gone = True
        call.show(shown(windows))
        await turns(2)
        call.changed()
    assert {type(each["exception"]) for each in complaints} == {BrokenPipeError}


async def test_updates_tell_who_began_and_ended_and_never_too_often(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_call, "UPDATE_INTERVAL_S", 0.4)
    loop = asyncio.get_running_loop()
    waits = Window(WindowTitle("t"))
    host, windows = FakeHost(), Shown(waits, waits)
    async with live(host) as call:
        call.show(shown(windows))
        assert "update" not in await host.next("picture")
        windows.windows[0] = replace(waits, status="running")
        call.changed()
        update = (await host.next("picture"))["update"]
        began = loop.time()
        assert update["content"][0]["text"] == "Sub-agents: 1 running, 1 queued"
        for count in range(1, 20):
            windows.windows[0] = replace(waits, status="running", **lines(count))
            call.changed()
            assert "update" not in await host.next("picture")
        windows.windows[0] = replace(windows.windows[0], status="completed")
        windows.windows[1] = replace(waits, status="running")
        call.changed()
        while "update" not in (told := await host.next("picture")):
            pass
        assert loop.time() - began >= 0.4
        assert told["parts"] == [], "the windows did not wait for it"
        assert told["update"]["content"][0]["text"] == "Sub-agents: 1 running, 1 done"
    assert host.rest() == []


async def test_the_summary_of_an_update_is_small_and_says_how_each_stands() -> None:
    window = replace(Window(WindowTitle("n" * 900), "running", call_count=3), **lines(100))
    host, windows = FakeHost(), Shown(window)
    async with live(host) as call:
        call.show(shown(windows))
        update = (await host.next("picture"))["update"]
    (row,) = update["details"].pop("windows")
    assert update == {
        "content": [{"type": "text", "text": "Sub-agents: 1 running"}],
        "details": {"status": "running", "maxLines": 7, "sessionIds": [""]},
    }
    assert len(row.pop("name")) <= 200
    assert row == {"status": "running", "callCount": 3, "elapsedMs": 0, "errorMessage": None}
