"""The display on a real pseudo-terminal, with windows that a test changes."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.fakes.pty_command import Watcher, open_pty, watching

from pi_subagents.core.value import replace
from pi_subagents.faces.terminal import messages
from pi_subagents.faces.terminal.display import Display, after_key, open_display, pause_after
from pi_subagents.faces.terminal.painting import View
from pi_subagents.faces.terminal.terminal import Terminal, open_terminal
from pi_subagents.view.window import Window, WindowLine, WindowTitle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pi_subagents.faces.terminal.terminal import Key

SESSION = "cac9f93297944b67"


class Talk:
    """One window; a test adds to what it says."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.status = "running"
        self.asked = 0

    def now(self) -> tuple[Window, ...]:
        self.asked += 1
        lines = tuple(WindowLine.said(text) for text in self.texts)
        window = Window(WindowTitle("talk", session_id=SESSION), lines=lines[-15:], history=lines)
        return (replace(window, status=self.status),)


def open_own(slave: int) -> Terminal:
    path = os.ttyname(slave)
    return Terminal(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC))


@asynccontextmanager
async def showing(
    talk: Talk, noted: list[str] | None = None
) -> AsyncIterator[tuple[Display, Watcher, int]]:
    said = [] if noted is None else noted
    with open_pty() as (master, slave):
        async with watching(master) as watcher:
            display = Display(open_own(slave), coloured=False, tell=said.append)
            display.show(talk)
            yield display, watcher, slave


async def test_what_is_new_is_shown_and_at_the_end_stays_with_the_shell() -> None:
    talk = Talk("hello")
    async with showing(talk) as (display, watcher, _):
        await watcher.sees("  hello")
        assert watcher.terminal.in_program
        assert not watcher.terminal.cursor_shown
        talk.texts.append("more")
        display.changed()
        await watcher.sees("  more")
        talk.texts.append("the last word")
        talk.status = "completed"
        display.close()
        shown = await watcher.sees("To continue")
    assert shown == [
        "✓ talk · 0s",
        f'To continue: subagents resume {SESSION[:8]} "..."',
        "",
    ]
    terminal = watcher.terminal
    assert (terminal.in_program, terminal.cursor_shown, terminal.wraps) == (False, True, True)


async def test_the_modes_of_the_terminal_are_ours_only_for_a_while() -> None:
    with open_pty() as (master, slave):
        before = termios.tcgetattr(slave)
        async with watching(master) as watcher:
            display = Display(open_own(slave), coloured=True, tell=print)
            display.show(Talk("hello"))
            during = termios.tcgetattr(slave)
            assert not during[3] & (termios.ICANON | termios.ECHO)
            assert during[3] & termios.ISIG  # Ctrl+C is a signal, as ever
            assert before[0] & ~during[0] == termios.IXON  # Ctrl+S does not stop the windows
            assert during[6][termios.VSUSP] == during[6][termios.VQUIT] == b"\0"
            await watcher.sees("hello")
            display.close()
            assert termios.tcgetattr(slave) == before


async def test_the_terminal_is_given_back_even_if_the_last_painting_fails() -> None:
    talk = Talk("hello")
    async with showing(talk) as (display, watcher, slave):
        await watcher.sees("hello")
        talk.status = "no such status"
        with pytest.raises(KeyError):
            display.close()
        await watcher.until(lambda: not watcher.terminal.in_program)
        assert termios.tcgetattr(slave)[3] & termios.ECHO


async def test_a_thousand_changes_at_once_are_painted_once() -> None:
    talk = Talk("0")
    async with showing(talk) as (display, watcher, _):
        await watcher.sees("  0")
        frames = watcher.sent.count("\x1b[?2026h")
        asked = talk.asked
        for number in range(1000):
            talk.texts.append(f"change {number}")
            display.changed()
        await watcher.sees("  change 999")
        assert watcher.sent.count("\x1b[?2026h") == frames + 1
        assert talk.asked == asked + 1
        display.close()


@pytest.mark.parametrize(("cost_s", "pause_s"), [(0, 0.1), (0.01, 0.1), (0.1, 0.4), (2, 8)])
def test_at_most_ten_paintings_a_second_and_a_fifth_of_the_time(
    cost_s: float, pause_s: float
) -> None:
    assert pause_after(cost_s) == pytest.approx(pause_s)


async def test_ctrl_o_shows_the_history_which_stands_still_while_it_is_read() -> None:
    talk = Talk(*(f"line {number}" for number in range(100)))
    async with showing(talk) as (display, watcher, _):
        await watcher.sees(messages.DISPLAY_KEYS)
        assert watcher.terminal.screen.text()[2] == "  line 85"
        watcher.press(b"\x0f")
        await watcher.sees(messages.DISPLAY_KEYS_EXPANDED)
        assert watcher.terminal.screen.text()[1] == "  line 78"
        watcher.press(b"\x1b[5~")
        shown = await watcher.sees(messages.DISPLAY_KEYS_SCROLLED)
        assert shown[1:-1] == [f"  line {number}" for number in range(56, 78)]
        talk.texts.append("something new")
        display.say("a mark")
        assert (await watcher.sees("a mark"))[1:-1] == shown[1:-1]
        display.say("")
        watcher.press(b"\x1b[F")
        await watcher.sees("  something new")
        watcher.press(b"\x1b[A")
        shown = await watcher.sees(messages.DISPLAY_KEYS_SCROLLED)
        assert shown[-2] == "  line 99"  # the line before the newest
        watcher.press(b"\x0f")
        await watcher.until(lambda: "talk" in watcher.terminal.screen.text()[1])
        display.close()


async def test_the_clock_ticks_without_any_news_until_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pi_subagents.faces.terminal.display.TICK_S", 0.01)
    loop, ticks = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def noted(delay_s: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        ticks.append(call_later(delay_s, callback))
        return ticks[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    talk = Talk("hello")
    async with showing(talk) as (display, watcher, _):
        asked = talk.asked
        talk.texts.append("one tick")
        await watcher.sees("  one tick")
        talk.texts.append("another tick")
        await watcher.sees("  another tick")
        assert talk.asked >= asked + 2
        display.close()
        assert all(tick.cancelled() or tick.when() <= loop.time() for tick in ticks)


async def test_after_a_resize_the_screen_is_painted_anew() -> None:
    talk = Talk("a line that is longer than thirty columns", *"bcdefgh")
    async with showing(talk) as (display, watcher, _):
        await watcher.sees(messages.DISPLAY_KEYS)
        watcher.resize(30, 6)
        os.kill(os.getpid(), signal.SIGWINCH)  # the kernel tells only the foreground
        shown = await watcher.sees("Ctrl+O full history • Ctrl+C …")
        assert shown == [
            "Sub-agents: 1 running",
            "● talk • 0s",
            "  f",
            "  g",
            "  h",
            "Ctrl+O full history • Ctrl+C …",
        ]
        display.close()


async def test_notices_wait_until_the_windows_are_out_of_the_way() -> None:
    noted: list[str] = []
    with open_pty() as (_, slave):
        display = Display(open_own(slave), coloured=False, tell=noted.append)
        display.notice("before")
        display.say("where there are no windows")
        display.show(Talk("x"))
        display.notice("during")
        display.say("in the windows")
        assert noted == ["before", "where there are no windows"]
        display.close()
        assert noted == ["before", "where there are no windows", "during"]


def fill(display: Display, terminal: Terminal, talk: Talk) -> None:
    """Paint until the terminal, which nobody reads, takes no more."""
    frame = 0
    while not terminal.busy:
        talk.texts = [f"{frame} {row} " + "x" * 60 for row in range(15)]
        frame += 1
        display.paint()


async def test_a_terminal_that_takes_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pi_subagents.faces.terminal.display.TICK_S", 3600)
    talk = Talk()
    with open_pty() as (master, slave):
        terminal = open_own(slave)
        display = Display(terminal, coloured=False, tell=print)
        display.show(talk)
        fill(display, terminal, talk)
        waiting = terminal.backlog
        talk.texts = ["now it reads again"]
        for _ in range(100):
            display.paint()  # left out, every one
        assert terminal.backlog == waiting
        async with watching(master) as watcher:
            await watcher.sees("  now it reads again")
            display.close()


async def test_the_last_words_are_never_left_out() -> None:
    talk = Talk()
    with open_pty() as (master, slave):
        terminal = open_own(slave)
        display = Display(terminal, coloured=False, tell=print)
        display.show(talk)
        fill(display, terminal, talk)
        heard = bytearray()

        def listen() -> None:
            while b"To continue" not in heard:
                heard.extend(os.read(master, 4096))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        display.close()
        assert not terminal.busy
        listener.join()


async def test_a_terminal_that_is_gone_harms_nothing() -> None:
    talk = Talk("x")
    noted: list[str] = []
    with open_pty() as (master, slave):
        terminal = open_own(slave)
        display = Display(terminal, coloured=False, tell=noted.append)
        display.show(talk)
        os.dup2(slave, master)  # the person's end is closed with this
        for _ in range(2):  # the loop looks, then it calls
            await asyncio.sleep(0)
        assert not asyncio.get_running_loop().remove_reader(terminal.descriptor)
        display.paint()
        talk.texts = ["y"]
        display.paint()
        assert not terminal.busy
        display.close()


@pytest.mark.parametrize("term", [None, "", "dumb"])
def test_a_terminal_that_can_do_nothing_gets_lines(term: str | None) -> None:
    with open_pty() as (_, slave):
        assert open_display(slave, {} if term is None else {"TERM": term}, tell=print) is None


def test_a_terminal_of_somebody_else_and_what_is_none_get_lines() -> None:
    with open_pty() as (_, slave):
        assert open_terminal(slave) is None
    reading, writing = os.pipe()
    assert open_terminal(writing) is None
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize(
    ("scroll", "key", "after"),
    [
        (0, "up", 1),
        (5, "down", 4),
        (0, "down", 0),
        (5, "page up", 15),
        (15, "page down", 5),
        (5, "page down", 0),
        (5, "home", 10**9),
        (5, "end", 0),
    ],
)
def test_keys_scroll_the_expanded_view_only(scroll: int, key: Key, after: int) -> None:
    assert after_key(View(expanded=True, scroll=scroll), key, 10) == View(
        expanded=True, scroll=after
    )
    assert after_key(View(), key, 10) == View()


def test_ctrl_o_there_and_back_begins_at_the_end() -> None:
    assert after_key(View(notice="n"), "expand", 10) == View(expanded=True, notice="n")
    assert after_key(View(expanded=True, scroll=7), "expand", 10) == View()
