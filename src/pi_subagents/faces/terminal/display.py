"""
Show a delegation while it runs: windows that roll, keys that are obeyed, a clock that ticks.

In: the windows, and word that something changed.  Out: a screen, painted soon after but never more
than ten times a second, and never for more than a fifth of the time; frames that the terminal has
no time for are left out.  At the end the windows stay where the shell goes on, as plain text.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Protocol

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.value import replace
from pi_subagents.faces.terminal import messages
from pi_subagents.faces.terminal.asking import question_lines, typed_line
from pi_subagents.faces.terminal.cells import as_text, changes
from pi_subagents.faces.terminal.painting import AROUND, View, paint, paint_ended
from pi_subagents.faces.terminal.terminal import KeyReader, open_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pi_subagents.faces.terminal.cells import StyledLine
    from pi_subagents.faces.terminal.terminal import Key, Terminal
    from pi_subagents.service.questions.people import PutQuestion
    from pi_subagents.view.window import Window

GATHER_S = 0.05
LEAST_PAUSE_S = 0.1
PAUSE_PER_COST = 4
TICK_S = 1.0
_TO_THE_TOP = 10**9
_WHOLE_JOB = 0  # as the terminal itself would do it: everybody in the foreground


class Source(Protocol):
    """Where windows come from: the service's `Windows`."""

    def now(self) -> tuple[Window, ...]:
        """Return every window as it is."""


def open_display(
    stream_descriptor: int, env: Mapping[str, str], *, tell: Callable[[str], None]
) -> Display | None:
    """Return a display, or None where lines have to do."""
    if env.get("TERM", "dumb") in ("", "dumb"):
        return None
    terminal = open_terminal(stream_descriptor)
    if terminal is None:
        return None
    return Display(terminal, coloured=not env.get("NO_COLOR"), tell=tell)


def pause_after(cost_s: float) -> float:
    """Return how long to leave the processor to others after a painting that took so long."""
    return max(LEAST_PAUSE_S, PAUSE_PER_COST * cost_s)


class Display:
    """The windows of one delegation on one terminal; to be closed in every case."""

    def __init__(self, terminal: Terminal, *, coloured: bool, tell: Callable[[str], None]) -> None:
        self._terminal = terminal
        self._coloured = coloured
        self._tell = tell
        self._notices: list[str] = []
        self._windows: Source | None = None
        self._held: tuple[Window, ...] = ()
        self._view = View()
        self._keys = KeyReader()
        self._on_screen: Sequence[StyledLine] = ()
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._ticker: asyncio.TimerHandle | None = None
        self._overdue = False
        self._answering = asyncio.Event()  # the person wants to answer what is asked

    def show(self, windows: Source) -> None:
        """Take the terminal and show these."""
        self._windows = windows
        self._enter()

    def _enter(self) -> None:
        self._terminal.enter()
        self._on_screen = ()
        self._overdue = False
        loop = asyncio.get_running_loop()
        loop.add_reader(self._terminal.descriptor, self._on_input)
        loop.add_signal_handler(signal.SIGWINCH, self._on_resize)
        loop.add_signal_handler(signal.SIGTSTP, self._suspend, os.getpid())
        self.paint()
        self._ticker = loop.call_later(TICK_S, self._tick)

    def changed(self, _: object = None) -> None:
        """Show soon what is new; whatever else happens until then comes with it."""
        self._paint_in(GATHER_S)

    def say(self, text: str) -> None:
        """Say something below the windows, from now on; where there are none, as a line."""
        if not self._terminal.entered:
            self._tell(text)
            return
        self._view = replace(self._view, notice=text)
        self._paint_in(0)

    def notice(self, text: str) -> None:
        """Say something that has to be read: now, or where the windows are out of the way."""
        if self._terminal.entered:
            self._notices.append(text)
        else:
            self._tell(text)

    async def ask(self, question: PutQuestion) -> str | None:
        """Ask below the windows; once a key is pressed, in their place.  Until it is answered."""
        while True:
            asks = messages.question_waits(one_line(question.name, 30), question.text)
            self.say(asks)
            self._answering.clear()
            try:
                if not question.problem:  # else somebody is at it already
                    await self._answering.wait()
                if (line := await self._typed(question)) is not None:
                    return line
            finally:
                if self._view.notice == asks:
                    self._view = replace(self._view, notice="")
                self._paint_in(0)

    async def _typed(self, question: PutQuestion) -> str | None:
        """Give the screen to a question and its answer; the sub-agents go on meanwhile."""
        self._stop_listening()
        self._terminal.leave(question_lines(question) + "\n> ")
        try:
            return await typed_line(self._terminal.descriptor)
        finally:
            self._enter()

    def close(self) -> None:
        """Give the terminal back, with the windows as they are at the end."""
        if self._terminal.entered:
            self._stop_listening()
            last_words = ""
            try:
                last_words = self._last_words()
            finally:
                self._terminal.leave(last_words)
        self._terminal.close()
        for text in self._notices:
            self._tell(text)

    def _last_words(self) -> str:
        assert self._windows is not None
        width, _ = self._terminal.size()
        lines = paint_ended(self._windows.now(), width)
        return "".join(as_text(line, coloured=self._coloured) + "\n" for line in lines)

    def _stop_listening(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._terminal.descriptor)
        loop.remove_writer(self._terminal.descriptor)
        loop.remove_signal_handler(signal.SIGWINCH)
        loop.remove_signal_handler(signal.SIGTSTP)
        for timer in (self._timer, self._ticker):
            if timer is not None:
                timer.cancel()
        self._timer = None

    def _tick(self) -> None:
        self._paint_in(0)
        self._ticker = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _paint_in(self, delay_s: float) -> None:
        if self._timer is None and self._terminal.entered:
            loop = asyncio.get_running_loop()
            when = max(loop.time() + delay_s, self._not_before)
            self._timer = loop.call_at(when, self.paint)

    def paint(self) -> None:
        """Paint what there is to see; later, where the terminal has not taken the last picture."""
        self._timer = None
        if self._terminal.busy:
            self._overdue = True
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        screen = paint(self._in_view(), *self._terminal.size(), self._view)
        self._view = replace(self._view, scroll=screen.scroll)
        if not screen.scroll:
            self._held = ()
        if text := changes(self._on_screen, screen.lines, coloured=self._coloured):
            self._terminal.show(text)
        self._on_screen = screen.lines
        if self._terminal.busy:
            loop.add_writer(self._terminal.descriptor, self._on_writable)
        now = loop.time()
        self._not_before = now + pause_after(now - began)

    def _in_view(self) -> tuple[Window, ...]:
        """Return the windows; while someone reads further up, their text stands still."""
        assert self._windows is not None
        now = self._windows.now()
        if not self._view.scroll:
            return now
        self._held = self._held or now
        return tuple(
            replace(window, history=held.history)
            for window, held in zip(now, self._held, strict=True)
        )

    def _on_writable(self) -> None:
        self._terminal.flush()
        if not self._terminal.busy:
            asyncio.get_running_loop().remove_writer(self._terminal.descriptor)
            if self._overdue:
                self._overdue = False
                self._paint_in(0)

    def _on_input(self) -> None:
        data = self._terminal.read()
        if data is None:
            asyncio.get_running_loop().remove_reader(self._terminal.descriptor)
            return
        for key in self._keys.feed(data):
            if key == "suspend":
                self._suspend(_WHOLE_JOB)
                continue
            if key == "answer":
                self._answering.set()
                continue
            self._view = after_key(self._view, key, page=self._terminal.size()[1] - AROUND)
        self._paint_in(0)

    def _suspend(self, whom: int) -> None:
        """
        Give the terminal back and stand still, until somebody wants us to go on.

        The sub-agents go on meanwhile: only who watches them stands still.
        """
        loop = asyncio.get_running_loop()
        loop.remove_writer(self._terminal.descriptor)
        self._terminal.leave("")
        loop.remove_signal_handler(signal.SIGTSTP)  # from here on it is what it usually is
        os.kill(whom, signal.SIGTSTP)
        # Here we go on, in the foreground or as soon as we are there.
        loop.add_signal_handler(signal.SIGTSTP, self._suspend, os.getpid())
        self._terminal.enter()
        self._on_screen = ()
        self._overdue = False
        self._paint_in(0)

    def _on_resize(self) -> None:
        self._terminal.clear()
        self._on_screen = ()
        self._paint_in(0)


def after_key(view: View, key: Key, page: int) -> View:
    """Return how a person wants to see the windows after pressing a key."""
    if key == "expand":
        return replace(view, expanded=not view.expanded, scroll=0)
    if not view.expanded:
        return view
    steps = {
        "up": 1, "down": -1, "page up": page, "page down": -page, "home": _TO_THE_TOP,
        "end": -_TO_THE_TOP,
    }  # fmt: skip
    return replace(view, scroll=min(max(view.scroll + steps[key], 0), _TO_THE_TOP))
