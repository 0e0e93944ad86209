"""What a host is told while sub-agents work: no more often, and no faster, than it can take."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.faces.bridge import live_call
from pi_subagents.faces.bridge.live_call import LiveCall
from pi_subagents.view.progress_updates import BURST_BYTES, WindowUpdates, WordUpdates
from pi_subagents.view.window import Window, WindowLine, WindowTitle
from pi_subagents.view.window_delta import WindowDeltas
from pi_subagents.view.window_picture import place_of_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.faces.bridge.peer import HostPeer
    from pi_subagents.service.foreground import Windows
    from pi_subagents.view.progress_updates import Updates

PATIENCE_S = 10.0
LINES_AT = place_of_lines(0)
SOMETHING = ev.StateChanged("running")


class FakeHost:
    """Takes notifications, and keeps up as fast as a test lets it."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = False

    def notify(self, method: str, params: dict[str, object]) -> None:
        if self.gone:
            raise BrokenPipeError
        self.heard.put_nowait((method, params))

    async def drain(self) -> None:
        await self.reads.wait()

    async def next(self, method: str) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                name, params = await self.heard.get()
                if name == method:
                    return params

    def rest(self) -> list[tuple[str, Any]]:
        return [self.heard.get_nowait() for _ in range(self.heard.qsize())]


class Shown:
    """Windows as a delegation keeps them."""

    max_lines = 7

    def __init__(self, *windows: Window) -> None:
        self.windows = list(windows)

    def now(self) -> tuple[Window, ...]:
        return tuple(self.windows)


class NoUpdates(WindowUpdates):
    """For tests that are about the picture alone."""

    def next(self, windows: Sequence[Window], max_lines: int) -> None:
        del windows, max_lines


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the host's own pace counts."""
    monkeypatch.setattr(live_call, "INTERVAL_S", 0)


async def turns(count: int) -> None:
    """Let everything that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def live(host: FakeHost, updates: Updates | None = None, repeated: int = 0) -> LiveCall:
    return LiveCall(cast("HostPeer", host), "c1", updates or NoUpdates(), repeated=repeated)


def shown(windows: Shown) -> Windows:
    return cast("Windows", windows)


def lines(count: int) -> dict[str, Any]:
    made = tuple(WindowLine.said(str(n)) for n in range(count))
    return {"history": made, "lines": made, "line_count": count}


def latest(count: int) -> dict[str, Any]:
    """Return so many lines, of which a window still has the last ones."""
    made = tuple(WindowLine.said(str(n)) for n in range(max(count - 20, 0), count))
    return {"history": made, "lines": made, "line_count": count}


async def test_what_is_new_is_told_and_nothing_else(at_once: None) -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host) as call:
        call.changed(0, SOMETHING)
        call.show(shown(windows))
        first = await host.next("picture")
        assert first["callId"] == "c1"
        assert first["parts"] == WindowDeltas(7).since(windows.now())
        windows.windows[0] = replace(windows.windows[0], **lines(2))
        call.changed(0, SOMETHING)
        second = await host.next("picture")
        starting = {"at": LINES_AT + 1, "drop": 1, "add": []}
        assert second == {
            "callId": "c1",
            "parts": [{"at": LINES_AT, "add": [["0"], ["1"]]}, starting],
        }
        windows.windows[0] = replace(windows.windows[0], elapsed_ms=9)
        call.changed(0, SOMETHING)
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


async def test_the_end_is_told_once_with_what_was_not_told_yet() -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    async with live(host, WindowUpdates()) as call:
        call.show(shown(windows))
        await host.next("update")
        windows.windows[0] = replace(windows.windows[0], status="completed", **lines(1))
    (picture, last), (update, heard) = host.rest()
    assert (picture, update) == ("picture", "update")
    assert last["parts"][0]["add"] == [[["Sub-agents: ", "bold toolTitle"], ["1 done", "success"]]]
    assert text_of(heard) == "Sub-agents: 1 done\n\n✓ t • 0s/600s\n  0"


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
            call.changed(0, SOMETHING)
            await turns(5)
        assert host.rest() == []
        host.reads.set()
        heard = await host.next("picture")
        assert heard["parts"][0]["add"] == [[str(number)] for number in range(99)]


async def test_a_host_that_is_gone_ends_nothing_but_the_telling() -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with live(host) as call:
        host.gone = True
        call.show(shown(windows))
        await turns(2)
        call.changed(0, SOMETHING)
    assert {type(each["exception"]) for each in complaints} == {BrokenPipeError}


# What the host repeats in its own stream


async def test_updates_tell_each_new_line_and_nothing_twice(at_once: None) -> None:
    waits = Window(WindowTitle("t"))
    host, windows = FakeHost(), Shown(waits, waits)
    async with live(host, WindowUpdates()) as call:
        call.show(shown(windows))
        queued = await host.next("update")
        assert (queued.pop("callId"), sorted(queued)) == ("c1", ["content", "details"])
        assert text_of(queued).splitlines()[0] == "Sub-agents: 2 queued"
        windows.windows[0] = replace(waits, status="running")
        for count in range(1, 20):
            windows.windows[0] = replace(windows.windows[0], **lines(count))
            call.changed(0, SOMETHING)
            heard = text_of(await host.next("update")).splitlines()
            assert heard[0] == "Sub-agents: 1 running, 1 queued"
            assert heard[min(count, 7) + 2] == f"  {count - 1}"
        windows.windows[0] = replace(windows.windows[0], elapsed_ms=60_000)
        call.changed(0, SOMETHING)
        await turns(20)
    assert [name for name, _ in host.rest()] == ["picture"], "a clock alone is not repeated"


async def test_words_are_told_one_by_one_and_those_at_the_end_are_not_lost(at_once: None) -> None:
    host, windows = FakeHost(), Shown(Window(WindowTitle("scout"), "running"))
    async with live(host, WordUpdates()) as call:
        call.show(shown(windows))
        for text in ("one", "two", "three"):
            call.changed(0, ev.AssistantMessage(text))
        heard = [text_of(await host.next("update")) for _ in range(3)]
        call.changed(0, ev.AssistantMessage("four"))
        call.changed(0, ev.AssistantMessage("five"))
    assert heard == ["one", "two", "three"]
    assert [text_of(params) for name, params in host.rest() if name == "update"] == ["four", "five"]


@pytest.mark.slow
@pytest.mark.parametrize("repeated", [100, 1_000, 50_000, 5_000_000])
async def test_what_the_host_repeats_is_bounded_by_bytes_its_arguments_included(
    at_once: None, monkeypatch: pytest.MonkeyPatch, repeated: int
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: 0.0)  # no time for an allowance to grow
    host, windows = FakeHost(), Shown(Window(WindowTitle("t"), "running"))
    call = live(host, WindowUpdates(), repeated)
    call.show(shown(windows))
    for count in range(1, 1000):
        windows.windows[0] = replace(windows.windows[0], **latest(count))
        call.send()
    updates = [params for name, params in host.rest() if name == "update"]
    sizes = [repeated + len(json.dumps(params)) for params in updates]
    assert sum(sizes[:-1]) < BURST_BYTES <= sum(sizes)


async def test_words_without_room_give_way_and_the_latest_are_told_when_there_is_some(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s)
    host, windows = FakeHost(), Shown(Window(WindowTitle("scout"), "running"))
    call = live(host, WordUpdates(), repeated=BURST_BYTES)
    call.show(shown(windows))
    for number in range(100):
        call.changed(0, ev.AssistantMessage(str(number)))
        call.send()
    now_s = 1000.0
    call.send()
    heard = [text_of(params) for name, params in host.rest() if name == "update"]
    assert heard == ["0", "99"]


def text_of(update: Any) -> str:
    (entry,) = update["content"]
    text: str = entry["text"]
    return text
