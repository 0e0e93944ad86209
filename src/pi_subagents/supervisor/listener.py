"""
What one supervisor process listens to, whatever it is doing: descriptors and signals.

One thread, one selector.  Whoever is interested registers a function and takes it back; signals go
to whoever answers at the time.
"""

from __future__ import annotations

import os
import selectors
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

READ_SIZE = 128 * 1024  # twice what a pipe holds
STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Listener:
    """The ears of a supervisor."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.on_stop_signal: Callable[[bytes], None] = lambda _: None

    def hear(self, descriptor: int, handle: Callable[[], None]) -> None:
        """Call the function whenever there is something to read."""
        os.set_blocking(descriptor, False)
        self.selector.register(descriptor, selectors.EVENT_READ, handle)

    def forget(self, descriptor: int) -> None:
        """Listen there no more; it may have been forgotten before, or never been there (-1)."""
        if descriptor >= 0 and descriptor in self.selector.get_map():
            self.selector.unregister(descriptor)

    def hear_signals(self) -> None:
        """From now on be woken by signals, and die of none that can be heard."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *STOP_SIGNALS):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        # Whoever started us may have held them back until there is somebody to hear them.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        self.hear(reader, lambda: self._on_signals(os.read(reader, 512)))

    def serve(self, seconds: float | None) -> None:
        """Wait for something to do, and do it."""
        for key, _ in self.selector.select(seconds):
            key.data()

    def _on_signals(self, numbers: bytes) -> None:
        if stops := bytes(number for number in numbers if number in STOP_SIGNALS):
            self.on_stop_signal(stops)


def read_ready(descriptor: int) -> bytes | None:
    """Return bytes, nothing at the end, None if there is nothing to read yet."""
    try:
        return os.read(descriptor, READ_SIZE)
    except BlockingIOError:
        return None
    except ConnectionResetError:  # the end of a socket whose other side had not read everything
        return b""
