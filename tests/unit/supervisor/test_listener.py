from __future__ import annotations

import os
import signal
import socket
import struct
from typing import TYPE_CHECKING

import pytest

from pi_subagents.supervisor.listener import READ_SIZE, STOP_SIGNALS, Listener, read_ready

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.selector.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            assert end == writer  # a test may have closed it


def test_whoever_is_interested_is_called_when_there_is_something_to_read(
    listener: Listener, pipe: tuple[int, int]
) -> None:
    reader, writer = pipe
    heard: list[bytes | None] = []
    listener.add(reader, lambda: heard.append(read_ready(reader)))
    assert not os.get_blocking(reader)
    listener.serve(0)
    assert heard == []
    os.write(writer, b"one")
    listener.serve(None)
    listener.serve(0)
    assert heard == [b"one"]
    os.close(writer)
    listener.serve(None)
    assert heard == [b"one", b""]


def test_what_is_forgotten_is_heard_no_more_and_may_be_forgotten_again(
    listener: Listener, pipe: tuple[int, int]
) -> None:
    reader, writer = pipe
    heard: list[int] = []
    listener.add(reader, lambda: heard.append(1))
    os.write(writer, b"x")
    listener.remove(reader)
    listener.remove(reader)
    listener.remove(-1)
    listener.serve(0)
    assert heard == []


def test_several_are_served_in_one_round(listener: Listener, pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    left, right = socket.socketpair()
    heard: list[str] = []
    with left, right:
        listener.add(reader, lambda: heard.append("pipe"))
        listener.add(left.fileno(), lambda: heard.append("socket"))
        os.write(writer, b"x")
        right.send(b"x")
        listener.serve(None)
    assert sorted(heard) == ["pipe", "socket"]


def test_nothing_to_read_is_not_the_end(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.set_blocking(reader, False)
    assert read_ready(reader) is None
    os.write(writer, b"x" * 1000)
    assert read_ready(reader) == b"x" * 1000
    os.close(writer)
    assert read_ready(reader) == b""


def test_one_read_takes_everything_that_a_pipe_holds(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.set_blocking(writer, False)
    held = os.write(writer, b"x" * READ_SIZE)
    assert len(read_ready(reader) or b"") == held < READ_SIZE


def test_a_socket_whose_other_end_had_not_read_everything_has_ended() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        ours.send(b"never read")
        theirs.recv(1, socket.MSG_PEEK)  # it is there
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        assert read_ready(ours.fileno()) == b""


def _in_a_process(listener: Listener, *numbers: int) -> bytes:
    """Let a process of its own listen to signals, send it these; return what it heard."""
    reader, writer = os.pipe()
    ready_reader, ready = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            listener.on_stop_signal = lambda heard: void(os.write(writer, heard))
            listener.add_signals()
            for number in numbers:
                os.kill(os.getpid(), number)
            os.write(ready, b"r")
            listener.serve(5)
        finally:
            os._exit(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    for end in (writer, ready):
        os.close(end)
    alive = os.read(ready_reader, 1)
    heard = os.read(reader, 100)
    _, status = os.waitpid(child, 0)
    for end in (reader, ready_reader):
        os.close(end)
    assert (alive, status) == (b"r", 0)
    return heard


def void(_: object) -> None:
    """Forget a value."""


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_that_stops_is_heard_even_if_it_had_been_held_back(
    listener: Listener, number: int
) -> None:
    assert _in_a_process(listener, number) == bytes([number])


def test_the_death_of_a_child_wakes_and_stops_nothing(listener: Listener) -> None:
    assert _in_a_process(listener, signal.SIGCHLD) == b""
    assert _in_a_process(listener, signal.SIGCHLD, signal.SIGTERM) == bytes([signal.SIGTERM])


def test_a_reader_that_is_gone_kills_nobody(listener: Listener) -> None:
    assert _in_a_process(listener, signal.SIGPIPE, signal.SIGHUP) == bytes([signal.SIGHUP])
