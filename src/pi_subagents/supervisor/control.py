"""
Where a run takes orders from other processes: a socket on its desk, for as long as it lives.

In: lines on any number of connections.  Out: each is obeyed, then answered.  What one connection
sends, half a line or a flood, is in no other's way, and silent ones make room.
"""

from __future__ import annotations

import _socket  # the part of `socket` we use, at a tenth of its start-up cost
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, LineFramer
from pi_subagents.core.run.files import CONTROL
from pi_subagents.core.run.spec import TAKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.store.desk import Desk
    from pi_subagents.supervisor.listener import Listener

MAX_COMMAND_BYTES = 4096
MAX_CONNECTIONS = 32
BACKLOG = 128
_READ_SIZE = 4096  # little at a time: a connection that sends much is not served more than others


class Control:
    """The orders that one run takes from everywhere but its caller."""

    def __init__(self, desk: Desk, listener: Listener, obey: Callable[[list[Frame]], None]) -> None:
        self._desk = desk
        self._listener = listener
        self._obey = obey
        self._connections: dict[int, LineFramer] = {}  # the longest open first
        self._socket: _socket.socket | None = None
        with suppress(OSError):  # no sockets there: that costs `subagents stop`, no more
            self._socket = listen_on(desk)
            listener.add(self._socket.fileno(), self._accept)

    def close(self) -> None:
        """Take no more orders; processes that wait for the end of the run notice it."""
        if self._socket is not None:
            self._listener.remove(self._socket.fileno())
            self._socket.close()
            self._socket = None
        for connection in list(self._connections):
            self._drop(connection)
        with suppress(OSError):
            self._desk.control.unlink()

    def _accept(self) -> None:
        assert self._socket is not None
        try:
            connection, _ = self._socket._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - what `socket` calls
        except BlockingIOError:
            return
        except OSError:  # no descriptor is left: connections have to go
            if not self._connections:
                self._listener.remove(self._socket.fileno())
            for each in list(self._connections):
                self._drop(each)
            return
        os.set_inheritable(connection, False)
        if len(self._connections) >= MAX_CONNECTIONS:
            self._drop(next(iter(self._connections)))
        self._connections[connection] = LineFramer(MAX_COMMAND_BYTES)
        self._listener.add(connection, lambda: self._read(connection))
        self._read(connection)  # most have sent their order: no other can push in front of it

    def _read(self, connection: int) -> None:
        if connection not in self._connections:
            return  # it had to go while others were served
        try:
            data = os.read(connection, _READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        for frame in self._connections[connection].feed(data):
            self._obey([frame])
            with suppress(OSError):  # one that does not read is not waited for
                os.write(connection, TAKEN)

    def _drop(self, connection: int) -> None:
        del self._connections[connection]
        self._listener.remove(connection)
        os.close(connection)


def listen_on(desk: Desk) -> _socket.socket:
    """Return a socket on the desk, however long its path is."""
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        with desk.socket_address(CONTROL) as address:
            made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made
