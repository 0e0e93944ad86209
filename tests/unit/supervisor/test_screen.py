from __future__ import annotations

import os
import selectors
from typing import TYPE_CHECKING

import pytest

from pi_subagents.supervisor.listener import NonblockingWriter
from pi_subagents.supervisor.supervisor import MAX_SCREEN_BACKLOG

if TYPE_CHECKING:
    from collections.abc import Iterator


class Terminal:
    """A pipe for a terminal: what was shown is read from its other end."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.selector = selectors.DefaultSelector()
        os.set_blocking(self.reader, False)
        self.screen = NonblockingWriter(self.writer, self.selector, MAX_SCREEN_BACKLOG)

    def taken(self) -> bytes:
        """Take everything that comes, as long as something does."""
        taken = b""
        while True:
            try:
                data = os.read(self.reader, 1 << 16)
            except BlockingIOError:
                data = b""
            ready = self.selector.select(0) if self.selector.get_map() else []
            for key, _ in ready:
                key.data()
            if not data and not ready:
                return taken
            taken += data

    @property
    def waits(self) -> bool:
        return bool(self.selector.get_map())


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.selector.close()
    os.close(made.reader)
    os.close(made.writer)


def test_text_is_shown_at_once(terminal: Terminal) -> None:
    terminal.screen.send(b"one\n")
    terminal.screen.send(b"two\n")
    assert (terminal.waits, os.read(terminal.reader, 100)) == (False, b"one\ntwo\n")


def test_what_the_terminal_cannot_take_yet_is_shown_when_it_can(terminal: Terminal) -> None:
    lines = [b"%d %s\n" % (number, b"x" * 50_000) for number in range(4)]
    for line in lines:
        terminal.screen.send(line)
    assert terminal.waits
    assert terminal.taken() == b"".join(lines)
    assert not terminal.waits
    terminal.screen.send(b"more\n")
    assert terminal.taken() == b"more\n"


def test_the_newest_whole_lines_are_kept_for_a_terminal_that_takes_nothing(
    terminal: Terminal,
) -> None:
    terminal.screen.send(b"-" * (1 << 16))  # fills the pipe
    terminal.screen.max_backlog = 10
    for number in range(20):
        terminal.screen.send(b"%03d\n" % number)
    assert terminal.taken() == b"-" * (1 << 16) + b"018\n019\n"


def test_a_terminal_that_is_gone_costs_nothing(terminal: Terminal) -> None:
    os.close(terminal.reader)
    for _ in range(3):
        terminal.screen.send(b"anybody?\n")
    assert not terminal.waits
    terminal.reader = os.open(os.devnull, os.O_RDONLY)


def test_a_terminal_that_goes_while_text_waits_is_not_waited_for(terminal: Terminal) -> None:
    terminal.screen.send(b"x" * 100_000)
    assert terminal.waits
    os.close(terminal.reader)
    for key, _ in terminal.selector.select(0):
        key.data()
    terminal.screen.send(b"anybody?\n")
    assert not terminal.waits
    terminal.reader = os.open(os.devnull, os.O_RDONLY)


def test_without_a_terminal_nothing_is_shown() -> None:
    with selectors.DefaultSelector() as selector:
        NonblockingWriter(None, selector).send(b"nobody sees it\n")
        assert not selector.get_map()


def test_programs_that_are_started_do_not_inherit_it(terminal: Terminal) -> None:
    os.set_inheritable(terminal.writer, True)
    NonblockingWriter(terminal.writer, terminal.selector)
    assert not os.get_inheritable(terminal.writer)
