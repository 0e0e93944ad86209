"""Take orders at a run's desk in the place of its supervisor, in a thread of its own."""

from __future__ import annotations

import queue
import socket
import threading
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S

from pi_subagents.core.run.spec import TAKEN
from pi_subagents.supervisor.control import listen_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.store.desk import Desk


class FakeControl:
    """Every order is taken; what is to happen then is said one by one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.orders: list[str] = []
        self._socket = socket.socket(fileno=listen_on(desk).detach())
        self._socket.setblocking(True)
        self._doing: queue.SimpleQueue[tuple[Callable[[str], object], threading.Event]] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def then(self, what: Callable[[str], object]) -> threading.Event:
        """Do something with the next order, after it was taken; return what tells that it is done."""
        done = threading.Event()
        self._doing.put((what, done))
        return done

    def close(self) -> None:
        """Listen no more; every order that came is taken when this returns."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self.desk.control.unlink(missing_ok=True)
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        with self._socket:
            while True:
                try:
                    connection, _ = self._socket.accept()
                except OSError:
                    return
                self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(PATIENCE_S)
            order = connection.recv(4096).decode().removesuffix("\n")
            if order:
                self.orders.append(order)
                connection.sendall(TAKEN)
        if order and not self._doing.empty():
            what, done = self._doing.get()
            what(order)
            done.set()
