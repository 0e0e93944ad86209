"""
Show text on a terminal that is never waited for.

In: plain text as bytes, in order.  Out: the terminal shows it as fast as it takes it.  One that
takes nothing (held by Ctrl+S, say) costs a bounded backlog, of which the newest lines are kept; one
that is gone costs nothing.
"""

from __future__ import annotations

import os
import selectors

MAX_BACKLOG = 256 * 1024


class TranscriptScreen:
    """A terminal, or none where the descriptor is None; whoever owns the selector serves it."""

    def __init__(self, descriptor: int | None, selector: selectors.BaseSelector) -> None:
        self._descriptor = descriptor
        self._selector = selector
        self._backlog = b""
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)

    def show(self, text: bytes) -> None:
        """Show the text, now or as soon as there is room."""
        if self._descriptor is None:
            return
        waiting = bool(self._backlog)
        self._backlog = _newest(self._backlog + text)
        if not waiting:
            self._write()
            if self._backlog:
                self._selector.register(self._descriptor, selectors.EVENT_WRITE, self._go_on)

    def _go_on(self) -> None:
        descriptor = self._descriptor
        self._write()
        if not self._backlog and descriptor is not None:
            self._selector.unregister(descriptor)

    def _write(self) -> None:
        assert self._descriptor is not None
        try:
            while self._backlog:
                self._backlog = self._backlog[os.write(self._descriptor, self._backlog) :]
        except BlockingIOError:
            pass
        except OSError:  # it is gone
            self._descriptor, self._backlog = None, b""


def _newest(text: bytes) -> bytes:
    """Return the end of the text that is kept, from the start of a line where it was cut."""
    if len(text) <= MAX_BACKLOG:
        return text
    kept = text[-MAX_BACKLOG:]
    return kept[kept.find(b"\n") + 1 :]
