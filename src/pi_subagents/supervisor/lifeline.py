"""
The lifeline of a supervisor: specifications and commands come on it, and its end is their end.

In: standard input, a pipe or a socket.  Out: frames for whoever works at the time, and the locks
of runs and envelopes for their results, which travel beside their specifications.
"""

from __future__ import annotations

import _socket  # the part of `socket` we use, at a tenth of its start-up cost
import json
import os
import stat
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, Line, LineFramer
from pi_subagents.core.run.spec import RunSpec, changed, spec_from_json
from pi_subagents.supervisor.listener import READ_SIZE, read_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pi_subagents.supervisor.listener import Listener

MAX_SPEC_BYTES = 16 * 1024 * 1024
_LOCK_BYTES = 4  # a descriptor is a C int
_MAX_LOCKS = 4


class Lifeline:
    """Who holds us, and what he says."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._framer = LineFramer(MAX_SPEC_BYTES)
        self._carries_locks = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
        self.locks: deque[int] = deque()
        self.lost = False
        self.on_frames: Callable[[list[Frame]], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None

    def first_spec(self) -> tuple[RunSpec, list[Frame]]:
        """Wait for the specification; what came with it is returned too, locks are kept."""
        while True:
            data = self._read()
            if not data:
                raise ValueError("the control channel ended before the specification")
            if frames := self._framer.feed(data):
                return self.order(frames[0]), frames[1:]

    def order(self, frame: Frame) -> RunSpec:
        """Return the specification in a frame, with its lock; ValueError if it is none."""
        spec = spec_from_json(json.loads(frame.data if isinstance(frame, Line) else b""))
        if self.locks and not spec.reuse.prewarm:
            spec = changed(spec, lock_fd=self.locks.popleft())
            if spec.place.envelope_fd is not None:  # what it is called at the other end
                spec = changed(spec, envelope_fd=self.locks.popleft() if self.locks else None)
        return spec

    def listen(self, listener: Listener) -> None:
        """Hear what comes from now on, locks included if it is a socket."""
        listener.hear(self._descriptor, lambda: self._on_readable(listener))

    def _on_readable(self, listener: Listener) -> None:
        data = self._read()
        if data is None:
            return
        if not data:
            self.lost = True
            listener.forget(self._descriptor)
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
