"""How often the display paints while children talk, by a clock that a test holds in its hand."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_time import FakeTimeLoop, run_in_fake_time
from tests.fakes.pty_command import open_pty
from tests.fakes.specs import make_spec
from tests.fakes.virtual_terminal import VirtualTerminal

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.settings import Settings
from pi_subagents.core.task.request import Task
from pi_subagents.faces.terminal.display import Display
from pi_subagents.faces.terminal.terminal import Terminal
from pi_subagents.service.delegation import PlannedTask, Update
from pi_subagents.service.foreground import Windows
from pi_subagents.view.window import Window, WindowLine, WindowTitle

if TYPE_CHECKING:
    from collections.abc import Iterator

CHILDREN = 16


class Talks:
    """Sixteen windows whose latest line is a number; looking at them may take its time."""

    def __init__(self, loop: FakeTimeLoop, cost_s: float = 0) -> None:
        self.said = 0
        self.looked_at: list[float] = []
        self._loop = loop
        self._cost_s = cost_s

    def now(self) -> tuple[Window, ...]:
        self.looked_at.append(round(self._loop.time(), 3))
        self._loop.pass_time(self._cost_s)
        line = (WindowLine.said(f"line {self.said}"),)
        return tuple(
            Window(WindowTitle(f"talk-{number}"), "running", lines=line, history=line)
            for number in range(CHILDREN)
        )


class Paper(Terminal):
    """A real terminal, but what is sent is seen at once: the kernel takes its own time for that."""

    def __init__(self, slave: int) -> None:
        super().__init__(os.open(os.ttyname(slave), os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
        self.seen = VirtualTerminal(80, 40)
        self.sent = 0

    def text(self) -> list[str]:
        return self.seen.screen.text()

    def _send(self, text: str) -> None:
        self.sent += 1
        self.seen.feed(text.replace("\n", "\r\n"))


@contextmanager
def showing(windows: Talks | Windows) -> Iterator[tuple[Display, Paper]]:
    with open_pty(80, 40) as (_, slave):
        paper = Paper(slave)
        display = Display(paper, coloured=False, tell=print)
        display.show(windows)
        try:
            yield display, paper
        finally:
            display.close()


async def talk(display: Display, talks: Talks, lines: int, every_s: float) -> None:
    for _ in range(lines):
        talks.said += 1
        display.changed()
        await asyncio.sleep(every_s)


@pytest.mark.parametrize(
    ("cost_s", "pause_s"),
    [
        (0, 0.1),  # ten times a second
        (0.02, 0.12),
        (0.1, 0.5),  # a fifth of the time
    ],
)
def test_sixteen_thousand_updates_a_second_are_painted_ten_times_at_most(
    cost_s: float, pause_s: float
) -> None:
    async def main(loop: FakeTimeLoop) -> None:
        talks = Talks(loop, cost_s)
        with showing(talks) as (display, paper):
            painted, sent = len(talks.looked_at), paper.sent
            await asyncio.gather(*(talk(display, talks, 3000, 0.001) for _ in range(CHILDREN)))
            looks = talks.looked_at
            assert paper.sent - sent == len(looks) - painted
        assert len(looks) > 5
        assert {round(b - a, 2) for a, b in pairwise(looks[:-1])} == {pause_s}

    run_in_fake_time(main)


def test_what_happens_within_50_ms_is_painted_together_and_the_next_not_before_100() -> None:
    async def main(loop: FakeTimeLoop) -> None:
        talks = Talks(loop)
        with showing(talks) as (display, _):
            await asyncio.sleep(0.5)
            for _ in range(4):  # at 500, 520, 540 and 560 ms
                await talk(display, talks, 1, 0.02)
            await asyncio.sleep(0.2)
            await talk(display, talks, 1, 0.2)
            assert talks.looked_at == [0, 0.55, 0.65, 0.83]

    run_in_fake_time(main)


def test_without_any_news_it_is_painted_once_a_second_and_nothing_is_sent() -> None:
    async def main(loop: FakeTimeLoop) -> None:
        talks = Talks(loop)
        with showing(talks) as (_, paper):
            sent = paper.sent
            await asyncio.sleep(5.5)
            assert talks.looked_at == [0, 1, 2, 3, 4, 5]
            assert paper.sent == sent

    run_in_fake_time(main)


def test_the_last_painting_does_not_wait_for_its_turn() -> None:
    async def main(loop: FakeTimeLoop) -> None:
        talks = Talks(loop)
        with showing(talks) as (display, paper):
            await talk(display, talks, 1, 0.11)
            assert talks.looked_at == [0, 0.1]
            talks.said = 2
        assert talks.looked_at == [0, 0.1, 0.11]
        assert not paper.seen.in_program

    run_in_fake_time(main)


def test_elapsed_ticks_every_second_and_freezes_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = PlannedTask(0, Task("count", "x"), make_spec("r" * 32, "s" * 16, "count", (), "/p"))

    async def main(loop: FakeTimeLoop) -> None:
        monkeypatch.setattr(
            "pi_subagents.service.foreground.now_ms", lambda: round(loop.time() * 1000)
        )
        windows = Windows([run], Settings(), home="/h")
        with showing(windows) as (display, paper):
            windows.apply(Update(run, ev.StateChanged("running")))
            seen = []
            for _ in range(3):
                await asyncio.sleep(1.01)
                seen.append(paper.text()[1])
            assert seen == [f"● count • {passed}s" for passed in (1, 2, 3)]
            result = RunResult("r" * 32, "s" * 16, "count", "completed", duration_ms=3400)
            windows.apply(Update(run, result))
            display.changed()
            await asyncio.sleep(0.11)
            assert paper.text()[1] == "✓ count • 3s"
            sent = paper.sent
            await asyncio.sleep(60)
            assert paper.sent == sent

    run_in_fake_time(main)
