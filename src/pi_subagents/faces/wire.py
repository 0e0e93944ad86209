"""
Standard input and output as a wire to a host: bounded lines in, whole lines out, nothing else.

In: the process's own descriptors.  Out: frames, and a place to write to.  Whatever anybody prints
goes to standard error, and a child that is started inherits neither end.  Reading and writing
happen in daemon threads: a host that neither reads nor writes never keeps this process alive.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import queue
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import LineFramer
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pi_subagents.core.framing import Frame

_CHUNK = 64 * 1024
_WAITING_FRAMES = 8  # a frame may be large
_ABOVE_STANDARD = 3


@value
class Wire:
    """The two ends of the wire, as descriptors that nobody else has."""

    reading: int
    writing: int


def claim_stdio() -> Wire:
    """Take standard input and output for the wire alone; prints go to standard error from now."""
    wire = Wire(_private(0), _private(1))
    nothing = _nothing()
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # there is no standard error
            os.dup2(nothing, 1)
    finally:
        os.close(nothing)
    return wire


def _private(descriptor: int) -> int:
    try:
        private = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE_STANDARD)
    except OSError:  # a host that closed it has nothing to say, and hears nothing
        return _nothing()
    os.set_blocking(private, True)  # our threads wait; a host may have left it otherwise
    return private


def _nothing() -> int:
    """Open the null device above the standard descriptors, whichever of those are free."""
    opened = os.open(os.devnull, os.O_RDWR)
    try:
        return fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _ABOVE_STANDARD)
    finally:
        os.close(opened)


async def read_lines(descriptor: int, max_line_bytes: int) -> AsyncGenerator[Frame, None]:
    """Yield every line until the other side closes; one beyond the limit is reported, not held."""
    loop = asyncio.get_running_loop()
    frames: asyncio.Queue[Frame | None] = asyncio.Queue()
    room = threading.Semaphore(_WAITING_FRAMES)
    left = threading.Event()

    def put(frame: Frame | None) -> None:
        if not left.is_set():
            room.acquire()
            loop.call_soon_threadsafe(frames.put_nowait, frame)

    def read() -> None:
        framer = LineFramer(max_line_bytes)
        with suppress(RuntimeError):  # the loop is over
            while not left.is_set() and (chunk := _read(descriptor)):
                for frame in framer.feed(chunk):
                    put(frame)
            for frame in framer.end():
                put(frame)
            put(None)

    threading.Thread(target=read, name="wire-in", daemon=True).start()
    try:
        while (frame := await frames.get()) is not None:
            room.release()
            yield frame
    finally:
        left.set()
        room.release()  # nobody keeps the thread waiting any more


def _read(descriptor: int) -> bytes:
    with suppress(OSError):  # a wire that breaks has ended
        return os.read(descriptor, _CHUNK)
    return b""


class LineWriter:
    """Writes whole lines, in the order they are given; OSError where the host is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="wire-out", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write a line and return when the host's end has taken it."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put((line + b"\n", written))
        await written

    def _write(self) -> None:
        while True:
            data, written = self._waiting.get()
            problem: OSError | None = None
            try:
                left = memoryview(data)
                while left:  # the kernel may take only some
                    left = left[os.write(self._descriptor, left) :]
            except OSError as error:
                problem = error
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(_settle, written, problem)


def _settle(written: asyncio.Future[None], problem: OSError | None) -> None:
    if written.done():  # whoever waited has left
        return
    if problem is None:
        written.set_result(None)
    else:
        written.set_exception(problem)
