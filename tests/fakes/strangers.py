"""
Strangers on a run's control socket: one who says half a line, one who never stops saying things.

In: the desk of a run, or a test's own.  Out: a connection, for as long as the `with` lasts.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.store.desk import Desk


@contextmanager
def connected(desk: Desk) -> Iterator[socket.socket]:
    """Have a connection as a stranger would make it."""
    directory = os.open(desk.path, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(f"/proc/self/fd/{directory}/control")
        os.close(directory)
        yield connection


@contextmanager
def flooded(desk: Desk) -> Iterator[None]:
    """Have somebody pour lines and parts of lines without an end, who reads no answer."""
    over = threading.Event()
    with connected(desk) as flood:

        def pour() -> None:
            while not over.is_set():
                try:
                    flood.sendall(b"x" * 65_536 + b"\n" * 65_536)
                except OSError:
                    return

        pouring = threading.Thread(target=pour)
        pouring.start()
        try:
            yield
        finally:
            over.set()
            flood.shutdown(socket.SHUT_RDWR)
            pouring.join(PATIENCE_S)
