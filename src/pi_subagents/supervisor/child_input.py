"""
Write to a child's standard input without ever waiting for it.

In: lines, in order.  Out: the child gets them as fast as it reads.  A child that is gone gets
nothing, and says so by its exit; the backlog is bounded by what we have to say, which is little.
"""

from __future__ import annotations

import os
import selectors
from contextlib import suppress


class ChildInput:
    """The writing end of a child's standard input."""

    def __init__(self, descriptor: int, selector: selectors.BaseSelector) -> None:
        self._descriptor = descriptor
        self._selector = selector
        self._backlog = bytearray()
        self._closing = False
        os.set_blocking(descriptor, False)

    def send(self, line: bytes) -> None:
        """Give the child a line, now or as soon as it reads on."""
        if self._closing:
            return
        waiting = bool(self._backlog)
        self._backlog += line
        if not waiting:
            self._write()
            if self._backlog:
                self._selector.register(self._descriptor, selectors.EVENT_WRITE, self._go_on)

    def close(self) -> None:
        """End the child's input; what it has not read by now is not worth waiting for."""
        if not self._closing:
            self._closing = True
            if self._backlog:
                self._selector.unregister(self._descriptor)
            with suppress(OSError):
                os.close(self._descriptor)

    def _go_on(self) -> None:
        self._write()
        if not self._backlog:
            self._selector.unregister(self._descriptor)

    def _write(self) -> None:
        try:
            while self._backlog:
                del self._backlog[: os.write(self._descriptor, self._backlog)]
        except BlockingIOError:
            pass
        except OSError:  # it is gone
            self._backlog.clear()
