"""
Give a living supervisor an order through the socket on its desk, and hear that it took it.

In: a desk and a command.  Out: whether it was taken.  Every wait has an end.  Each order has a
connection of its own, so that nobody's half a line or flood is in the way of another's.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pi_subagents.core.run.spec import TAKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.store.desk import Desk

ANSWER_LIMIT_S = 5.0
_PAUSE_S = 0.02
_NOBODY = (
    errno.ENOENT, errno.ENOTDIR, errno.ELOOP,  # no socket, or no desk
    errno.ECONNREFUSED, errno.EPROTOTYPE,  # nobody behind it, or it is something else
    errno.EPIPE, errno.ECONNRESET,  # he went in this very moment
)  # fmt: skip


class Order:
    """One order on its way; close it, or use it in a `with` statement."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._heard = b""
        self.over = False  # the other side has gone

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for nothing more."""
        self._connection.close()

    def taken(self) -> bool:
        """Wait for the supervisor's word that it took the order; return whether it came in time."""
        while TAKEN not in self._heard and not self.over:
            if not self._hear(self._deadline):
                return False
        return TAKEN in self._heard

    def _hear(self, deadline: float) -> bool:
        """Take what comes; return whether something came before the time was up."""
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        self._connection.settimeout(left)
        try:
            data = self._connection.recv(4096)
        except TimeoutError:
            return False
        except OSError:  # it went with something of ours unread
            data = b""
        self._heard = (self._heard + data)[-2 * len(TAKEN) :]
        self.over = not data
        return True


def give_order(desk: Desk, command: str, limit_s: float = ANSWER_LIMIT_S) -> Order | None:
    """Send a command; None where nobody listens.  OSError if that cannot be found out."""
    deadline = time.monotonic() + limit_s
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(desk) as address:
            _connect(connection, address, deadline)
        connection.settimeout(limit_s)
        with suppress(TimeoutError):  # then no answer will come either
            connection.sendall(command.encode("ascii") + b"\n")
    except OSError as error:
        connection.close()
        if error.errno in _NOBODY:
            return None
        raise
    return Order(connection, deadline)


def send(desk: Desk, command: str, limit_s: float = ANSWER_LIMIT_S) -> bool:
    """Give a living supervisor a command; return whether one took it in time."""
    order = give_order(desk, command, limit_s)
    if order is None:
        return False
    with order:
        return order.taken()


def _connect(connection: socket.socket, address: str, deadline: float) -> None:
    """Connect, also where many others are in front of us."""
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


@contextmanager
def _address(desk: Desk) -> Iterator[str]:
    """Yield a name of the socket that is short enough, however long the path is."""
    if sys.platform != "linux" or not Path("/proc/self/fd").is_dir():
        yield str(desk.control)
        return
    how = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    directory = os.open(desk.path, how)
    try:
        yield f"/proc/self/fd/{directory}/{desk.control.name}"
    finally:
        os.close(directory)
