"""
Give a living supervisor an order through the socket on its desk, or end its run from outside.

In: a desk and a command.  Out: whether it was taken.  Every wait has an end.  Each order has a
connection of its own, so that half a line or a flood on one is in no other's way.

A run that is to end, and has not begun, never will; a supervisor that does not answer is ended
itself, with everything below it, if that was asked for.
"""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import nullcontext, suppress
from enum import Enum
from typing import TYPE_CHECKING, Self

from pi_subagents.core.run.files import CONTROL
from pi_subagents.core.run.spec import KILL, STOP, TAKEN
from pi_subagents.store.desk import STOPPED, Desk
from pi_subagents.store.recovery import conclude_in_turn, end_unresponsive, stop_before_start

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir

ANSWER_LIMIT_S = 5.0
# Longer than any supervisor takes that works: asking, grace, and sweeping what is left.
STOP_LIMIT_S = 30.0
KILL_LIMIT_S = 20.0
_PAUSE_S = 0.02
_NO_LISTENER = (
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP,  # no socket, or no desk
    errno.ECONNREFUSED, errno.EPROTOTYPE,  # no process behind it, or it is something else
    errno.EPIPE, errno.ECONNRESET,  # it went in this very moment
)  # fmt: skip


class Order:
    """One order on its way; close it, or use it in a `with` statement."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._received = b""
        self.over = False  # the other side has gone

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for nothing more."""
        self._connection.close()

    def taken(self) -> bool:
        """Wait for the supervisor's answer that it took the order; return whether it came."""
        while TAKEN not in self._received and not self.over:
            left_s = self._deadline - time.monotonic()
            if left_s <= 0:
                return False
            self._connection.settimeout(left_s)
            try:
                data = self._connection.recv(4096)
            except TimeoutError:
                return False
            except OSError:  # it went with something of ours unread
                data = b""
            self._received = (self._received + data)[-2 * len(TAKEN) :]
            self.over = not data
        return TAKEN in self._received


def give_order(desk: Desk, command: str, limit_s: float = ANSWER_LIMIT_S) -> Order | None:
    """Send a command; None where no process listens.  OSError if that cannot be found out."""
    deadline = time.monotonic() + limit_s
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with desk.socket_address(CONTROL) as address:
            _connect(connection, address, deadline)
        connection.settimeout(limit_s)
        with suppress(TimeoutError):  # then no answer will come either
            connection.sendall(command.encode("ascii") + b"\n")
    except OSError as error:
        connection.close()
        if error.errno in _NO_LISTENER:
            return None
        raise
    return Order(connection, deadline)


def send(desk: Desk, command: str, limit_s: float = ANSWER_LIMIT_S) -> bool:
    """Give a living supervisor a command; return whether one took it in time."""
    with give_order(desk, command, limit_s) or nullcontext() as order:
        return order is not None and order.taken()


def _connect(connection: socket.socket, address: str, deadline: float) -> None:
    """Connect, also where many others wait before us."""
    connection.setblocking(False)
    while True:
        try:
            connection.connect(address)
        except BlockingIOError:  # as many wait as may; each of them is served in turn
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)) from None
            time.sleep(_PAUSE_S)
        else:
            return


class Stopped(Enum):
    """What came of it."""

    ENDED = "ended"
    OVER = "over"  # it had come to its end before
    DEAF = "deaf"  # no process takes orders for it
    SILENT = "silent"  # a process is there, and does not answer
    AT_IT = "at it"  # the order was taken, and the run has not ended all the same


class Stopping:
    """One run that is to end; it is asked at once, and waited for later."""

    def __init__(self, run_dir: RunDir, *, force: bool) -> None:
        self.run_dir = run_dir
        self._force = force
        self._deadline = time.monotonic() + ANSWER_LIMIT_S
        self._silent = False
        self._order = self._ask()

    def finish(self) -> Stopped:
        """Wait for the end, as long as it may take; return what came of it."""
        taken = self._was_taken()
        if isinstance(taken, Stopped):
            return taken
        limit_s = KILL_LIMIT_S if self._force else STOP_LIMIT_S
        if taken and self.run_dir.desk.wait_for_end(limit_s):
            return self._ended()
        if self._force and end_unresponsive(self.run_dir.desk, STOPPED):
            return self._ended()
        if taken:
            return Stopped.AT_IT
        return Stopped.SILENT if self._silent else Stopped.DEAF

    def _was_taken(self) -> bool | Stopped:
        """Return whether the order was taken, or what came of it if no process could take one."""
        while True:
            if self._order is not None:
                with self._order as order:
                    if order.taken():
                        return True
                    if not order.over:
                        self._silent = True
                        return False
            elif stop_before_start(self.run_dir):
                return Stopped.ENDED
            if not self.run_dir.desk.alive():
                self._ended()
                return Stopped.OVER
            if time.monotonic() >= self._deadline:
                return False
            time.sleep(_PAUSE_S)
            self._order = self._ask()

    def _ask(self) -> Order | None:
        left = max(self._deadline - time.monotonic(), _PAUSE_S)
        try:
            return give_order(self.run_dir.desk, KILL if self._force else STOP, left)
        except OSError:  # it has no room for another order, and makes none
            self._silent = True
            return None

    def _ended(self) -> Stopped:
        with suppress(OSError):  # no room for its result: the next look tries again
            conclude_in_turn(self.run_dir)
        return Stopped.ENDED
