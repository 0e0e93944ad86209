"""Orders for a run come over a socket on its desk: one connection is in no other's way."""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.driver import PATIENCE_S
from tests.fakes.strangers import connected, flooded

from pi_subagents.core.framing import Frame, Line
from pi_subagents.core.run.spec import TAKEN
from pi_subagents.store import orders
from pi_subagents.store.desk import Desk
from pi_subagents.store.orders import give_order, send
from pi_subagents.supervisor.control import BACKLOG, MAX_COMMAND_BYTES, MAX_CONNECTIONS, Control
from pi_subagents.supervisor.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="long paths need /proc")
LONG = "a-directory-whose-name-is-far-longer-than-any-address-of-a-socket-may-be"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk that is further away than a socket's address can tell."""
    made = Desk(tmp_path / LONG / LONG / "desks" / ("a" * 32))
    made.path.mkdir(parents=True, mode=0o700)
    assert len(str(made.control)) > 108
    return made


class Served:
    """What a supervisor does, in a thread: listen, obey."""

    def __init__(self, desk: Desk) -> None:
        self.taken: list[Frame] = []
        self._listener = Listener()
        self._end, self._ended = os.pipe()
        self._over = False
        self.control = Control(desk, self._listener, self.taken.extend)
        self._listener.add(self._end, self._stop)
        self._thread = threading.Thread(target=self._serve)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        os.close(self._ended)
        if self._thread.ident is not None:
            self._thread.join(PATIENCE_S)
        self.control.close()
        os.close(self._end)
        self._listener.selector.close()

    def _stop(self) -> None:
        self._over = True

    def _serve(self) -> None:
        while not self._over:
            self._listener.serve(None)


@contextmanager
def served(desk: Desk, *, at_once: bool = True) -> Iterator[Served]:
    made = Served(desk)
    if at_once:
        made.start()
    try:
        yield made
    finally:
        made.close()


def test_an_order_is_taken_and_answered(desk: Desk) -> None:
    with served(desk) as supervisor:
        assert stat.S_ISSOCK(desk.control.lstat().st_mode)
        assert (send(desk, "stop"), send(desk, "steer 1")) == (True, True)
        assert supervisor.taken == [Line(b"stop"), Line(b"steer 1")]
    assert not desk.control.exists()
    assert send(desk, "stop") is False, "nobody is there any more"


def test_without_a_desk_nobody_listens(tmp_path: Path) -> None:
    assert send(Desk(tmp_path / "absent"), "stop") is False


@pytest.mark.parametrize("what", ["a file", "a FIFO", "a directory", "a link to nothing"])
def test_what_is_no_socket_takes_no_order(desk: Desk, what: str) -> None:
    match what:
        case "a file":
            desk.control.write_text("untouched")
        case "a FIFO":
            os.mkfifo(desk.control)
        case "a directory":
            desk.control.mkdir()
        case _:
            desk.control.symlink_to(desk.path / "nothing")
    assert send(desk, "stop") is False


def test_half_a_line_of_somebody_else_costs_nobody_an_order(desk: Desk) -> None:
    with served(desk) as supervisor, connected(desk) as half:
        half.sendall(b"st")
        assert send(desk, "stop") is True
        half.sendall(b"eer 1\n")
        assert half.recv(100) == TAKEN
        assert supervisor.taken == [Line(b"stop"), Line(b"steer 1")]


def test_a_flood_of_somebody_else_costs_nobody_an_order(desk: Desk) -> None:
    """It never ends while we ask, and nobody reads what it is answered."""
    with served(desk) as supervisor:
        with flooded(desk):
            assert [send(desk, "stop") for _ in range(10)] == [True] * 10
        assert supervisor.taken.count(Line(b"stop")) == 10


def is_served(connection: socket.socket) -> bool:
    """Return whether the other end has neither been closed nor turned away."""
    try:
        return bool(connection.recv(1, socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def test_as_many_connections_as_anybody_opens_cost_nobody_an_order(desk: Desk) -> None:
    directory = os.open(desk.path, os.O_RDONLY)
    silent = []
    try:
        with served(desk) as supervisor:
            for _ in range(4 * MAX_CONNECTIONS):
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(f"/proc/self/fd/{directory}/control")
                silent.append(connection)
            assert send(desk, "stop") is True
            assert supervisor.taken == [Line(b"stop")]
            assert sum(map(is_served, silent)) <= MAX_CONNECTIONS
    finally:
        os.close(directory)
        for connection in silent:
            connection.close()


def test_whoever_does_not_answer_is_not_waited_for_without_end(desk: Desk) -> None:
    with served(desk, at_once=False) as halted:
        assert send(desk, "stop", limit_s=0.05) is False
        order = give_order(desk, "kill", limit_s=0.05)
        assert order is not None
        with order:
            assert (order.taken(), order.over) == (False, False)
        halted.start()  # what was said meanwhile is heard when it goes on
        assert send(desk, "steer 1") is True
        assert halted.taken == [Line(b"stop"), Line(b"kill"), Line(b"steer 1")]


def test_a_queue_that_is_full_is_waited_for_and_not_without_end(desk: Desk) -> None:
    with served(desk, at_once=False):
        waiting = [give_order(desk, "stop") for _ in range(BACKLOG + 1)]
        with pytest.raises(TimeoutError):
            give_order(desk, "stop", limit_s=0.05)
        for order in waiting:
            assert order is not None
            order.close()


def test_a_queue_that_is_full_empties_and_every_order_in_it_is_taken(desk: Desk) -> None:
    with served(desk, at_once=False) as halted:
        waiting = [give_order(desk, f"steer {number}") for number in range(BACKLOG)]
        threading.Timer(0.05, halted.start).start()
        assert send(desk, "stop", limit_s=PATIENCE_S) is True
        assert halted.taken == [
            *(Line(f"steer {number}".encode()) for number in range(BACKLOG)),
            Line(b"stop"),
        ]
        for order in waiting:
            assert order is not None
            order.close()


def test_a_supervisor_that_goes_before_it_answers_did_not_take_the_order(desk: Desk) -> None:
    with served(desk, at_once=False) as halted:
        order = give_order(desk, "stop")
        assert order is not None
        halted.control.close()
        with order:
            assert (order.taken(), order.over) == (False, True)


def test_a_socket_that_cannot_be_made_costs_orders_and_nothing_else(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("pi_subagents.supervisor.control.listen_on", refuse)
    with served(desk):
        assert send(desk, "stop") is False


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3 * MAX_COMMAND_BYTES))
def test_any_bytes_leave_the_next_order_whole(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    desk = Desk(tmp_path_factory.mktemp("desk"))
    with served(desk) as supervisor:
        with connected(desk) as stranger:
            stranger.sendall(data)
        assert send(desk, "stop") is True
        assert supervisor.taken.count(Line(b"stop")) >= 1


def test_the_time_an_answer_may_take_is_longer_than_any_pause_of_a_living_supervisor() -> None:
    assert orders.ANSWER_LIMIT_S >= 5
