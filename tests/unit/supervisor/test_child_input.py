from __future__ import annotations

import fcntl
import os
import selectors
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

from pi_subagents.supervisor.listener import NonblockingWriter

if TYPE_CHECKING:
    from collections.abc import Iterator


class Child:
    """A child's end of its standard input, which it reads when the test says so."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, 4096)
        self.selector = selectors.DefaultSelector()
        self.input = NonblockingWriter(self.writer, self.selector)
        os.set_blocking(self.reader, False)

    @property
    def waits(self) -> bool:
        """Tell whether there is something that the child could not take yet."""
        return bool(self.selector.get_map())

    def serve(self) -> bool:
        """Do what a supervisor's loop does; tell whether there was anything to do."""
        ready = self.selector.select(0) if self.waits else []
        for key, _ in ready:
            key.data()
        return bool(ready)

    def reads(self, most: int = 1 << 16) -> bytes | None:
        """Take what is in the pipe: nothing at its end, None while there may be more."""
        try:
            return os.read(self.reader, most)
        except BlockingIOError:
            return None

    def reads_everything(self, most: int = 1 << 16) -> bytes:
        taken = b""
        while True:
            data = self.reads(most)
            taken += data or b""
            if not self.serve() and not data:
                return taken

    def goes_away(self) -> None:
        os.close(self.reader)

    def end(self) -> None:
        self.input.close()
        self.selector.close()
        with suppress(OSError):
            os.close(self.reader)


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child()
    yield made
    made.end()


def test_a_line_is_there_at_once(child: Child) -> None:
    child.input.send(b"one\n")
    child.input.send(b"two\n")
    assert (child.waits, child.reads()) == (False, b"one\ntwo\n")


def test_what_a_full_pipe_does_not_take_follows_when_it_does(child: Child) -> None:
    large = b"x" * 100_000 + b"\n"
    child.input.send(large)
    child.input.send(b"after\n")
    assert child.waits
    assert child.reads_everything() == large + b"after\n"
    assert not child.waits
    child.input.send(b"more\n")
    assert child.reads() == b"more\n"


def test_a_child_that_reads_slowly_gets_everything_in_order(child: Child) -> None:
    lines = [b"%d %s\n" % (number, b"y" * 3000) for number in range(9)]
    for line in lines:
        child.input.send(line)
    assert child.reads_everything(most=7) == b"".join(lines)


def test_a_child_that_reads_nothing_is_not_waited_for(child: Child) -> None:
    for _ in range(100):
        child.input.send(b"x" * 1000)
    assert child.waits
    assert child.serve() is False  # nothing to do until it reads
    assert child.reads() == b"x" * 4000  # short lines are written whole or not yet


@pytest.mark.parametrize("full", [False, True])
def test_a_child_that_is_gone_gets_nothing_and_costs_nothing(child: Child, full: bool) -> None:
    if full:
        child.input.send(b"x" * 10_000)
        assert child.waits
    child.goes_away()
    child.serve()
    for _ in range(3):
        child.input.send(b"anybody?\n")
    assert not child.waits


def test_the_end_of_input_is_the_end_for_the_child(child: Child) -> None:
    child.input.send(b"last\n")
    child.input.close()
    assert (child.reads(), child.reads()) == (b"last\n", b"")


def test_what_was_not_read_when_the_input_ends_is_dropped(child: Child) -> None:
    child.input.send(b"x" * 10_000)
    child.input.close()
    assert not child.waits
    assert (child.reads(), child.reads()) == (b"x" * 4096, b"")


def test_nothing_is_sent_after_the_end_to_whoever_has_its_number_now(child: Child) -> None:
    reader, writer = os.pipe()
    child.input.close()
    os.dup2(writer, child.writer)
    child.input.send(b"too late\n")
    child.input.close()
    assert not child.waits
    os.write(child.writer, b"still open")
    assert os.read(reader, 100) == b"still open"
    for each in (reader, writer, child.writer):
        os.close(each)


@briefly
@given(st.lists(st.integers(0, 9000), max_size=8), st.lists(st.integers(1, 5000), max_size=8))
def test_however_it_reads_a_child_gets_every_byte_once_and_in_order(
    sizes: list[int], reads: list[int]
) -> None:
    child = Child()
    try:
        taken = sent = b""
        for number, size in enumerate(sizes):
            line = bytes([97 + number]) * size + b"\n"
            child.input.send(line)
            sent += line
            if reads:
                taken += child.reads(reads.pop()) or b""
                child.serve()
        assert taken + child.reads_everything() == sent
    finally:
        child.end()
