"""
What one supervisor process reads and writes without waiting: signals, its lifeline, other streams.

One thread, one selector.  A part that is interested registers a function and removes it; signals go
to the part that answers at the time.  Specifications and commands come on the lifeline, standard
input, a pipe or a socket, and its end is the supervisor's end; the locks of runs and the envelopes
for their results travel beside the specifications.

A child's input and a terminal get bytes as fast as they take them.  One that takes nothing (held by
Ctrl+S, say) costs a backlog, of which only the newest lines are kept where it is bounded; one that
is gone costs nothing.
"""

from __future__ import annotations

import _socket  # the part of `socket` we use, at a tenth of its start-up cost
import json
import os
import selectors
import signal
import stat
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, Line, LineFramer
from pi_subagents.store.local_order import LocalOrder, altered, order_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

READ_SIZE = 128 * 1024  # twice what a pipe holds
STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MAX_SPEC_BYTES = 16 * 1024 * 1024
_LOCK_BYTES = 4  # a descriptor is a C int
_MAX_LOCKS = 4


class Listener:
    """The selector of a supervisor, and its signals."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.on_stop_signal: Callable[[bytes], None] = lambda _: None

    def add(self, descriptor: int, handle: Callable[[], None]) -> None:
        """Call the function whenever there is something to read."""
        os.set_blocking(descriptor, False)
        self.selector.register(descriptor, selectors.EVENT_READ, handle)

    def add_stream(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        """Pass on whatever can be read, until the end of the stream."""

        def on_readable() -> None:
            if data := read_ready(descriptor):
                take(data)
            elif data is not None:
                self.remove(descriptor)

        self.add(descriptor, on_readable)

    def remove(self, descriptor: int) -> None:
        """Listen there no more; it may have been removed before, or never added (-1)."""
        if descriptor >= 0 and descriptor in self.selector.get_map():
            self.selector.unregister(descriptor)

    def add_signals(self) -> None:
        """Be woken by signals from now on, and die of none that can be handled."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *STOP_SIGNALS):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        # They may have been held back until there is something to handle them.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        self.add(reader, lambda: self._on_signals(os.read(reader, 512)))

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


class Lifeline:
    """The caller that holds us, and what it sends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._framer = LineFramer(MAX_SPEC_BYTES)
        self._carries_locks = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        self.locks: deque[int] = deque()
        self.lost = False
        self.on_frames: Callable[[list[Frame]], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None

    def first_order(self) -> tuple[LocalOrder, list[Frame]]:
        """Wait for the order; what came with it is returned too, locks are kept."""
        while True:
            data = self._read()
            if not data:
                raise ValueError("the control channel ended before the specification")
            if frames := self._framer.feed(data):
                return self.order(frames[0]), frames[1:]

    def order(self, frame: Frame) -> LocalOrder:
        """Return the order in a frame, with its lock; ValueError if it is none."""
        order = order_from_json(json.loads(frame.data if isinstance(frame, Line) else b""))
        if self.locks and not order.spec.reuse.prewarm:
            order = altered(order, lock_fd=self.locks.popleft())
            if order.place.envelope_fd is not None:  # what it is called at the other end
                order = altered(order, envelope_fd=self.locks.popleft() if self.locks else None)
        return order

    def listen(self, listener: Listener) -> None:
        """Take what comes from now on, locks included if it is a socket."""
        listener.add(self._descriptor, lambda: self._on_readable(listener))

    def _on_readable(self, listener: Listener) -> None:
        data = self._read()
        if data is None:
            return
        if not data:
            self.lost = True
            listener.remove(self._descriptor)
            self.on_end()
        self.on_frames(self._framer.feed(data))

    def _read(self) -> bytes | None:
        if not self._carries_locks:
            return read_ready(self._descriptor)
        with self._socket() as held:
            try:
                room = _socket.CMSG_LEN(_MAX_LOCKS * _LOCK_BYTES)
                data, beside, *_ = held.recvmsg(READ_SIZE, room)
            except BlockingIOError:
                return None
            except ConnectionResetError:
                return b""
        for level, kind, content in beside:
            if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
                self.locks.extend(memoryview(content).cast("i"))
        return data

    @contextmanager
    def _socket(self) -> Iterator[_socket.socket]:
        """Lend the descriptor to an object that must not close it."""
        held = _socket.socket(fileno=self._descriptor)
        try:
            yield held
        finally:
            held.detach()


class NonblockingWriter:
    """A descriptor that is written to, or none; the owner of the selector serves it."""

    def __init__(
        self,
        descriptor: int | None,
        selector: selectors.BaseSelector,
        max_backlog: int | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._selector = selector
        self._backlog = bytearray()
        self.max_backlog = max_backlog
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)

    def send(self, data: bytes) -> None:
        """Write the data, now or as soon as there is room."""
        if self._descriptor is None:
            return
        waiting = bool(self._backlog)
        self._backlog += data
        if self.max_backlog is not None and len(self._backlog) > self.max_backlog:
            del self._backlog[: -self.max_backlog]
            del self._backlog[: self._backlog.find(b"\n") + 1]  # the rest of a line that was cut
        if not waiting:
            self._write(self._descriptor)
            if self._backlog:
                self._selector.register(self._descriptor, selectors.EVENT_WRITE, self._on_room)

    def close(self) -> None:
        """Close the descriptor; what was not taken by now is not worth waiting for."""
        if self._descriptor is not None:
            if self._backlog:
                self._selector.unregister(self._descriptor)
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _on_room(self) -> None:
        assert self._descriptor is not None
        self._write(self._descriptor)
        if not self._backlog:
            self._selector.unregister(self._descriptor)

    def _write(self, descriptor: int) -> None:
        try:
            while self._backlog:
                del self._backlog[: os.write(descriptor, self._backlog)]
        except BlockingIOError:
            pass
        except OSError:  # it is gone
            self._backlog.clear()
