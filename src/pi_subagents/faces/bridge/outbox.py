"""
Lines on their way to the host: given without waiting, written one after the other.

In: lines.  Out: the wire.  Who writes much waits with `drain` before it writes more, so that little
is held for a host that reads slowly.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.faces.wire import LineWriter


class Outbox:
    """An Outlet over a LineWriter; make it inside the loop, and close it."""

    def __init__(self, writer: LineWriter) -> None:
        self._writer = writer
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_gone = False
        self._posting = asyncio.create_task(self._post())

    def write(self, line: bytes) -> None:
        """Send a line without waiting; ConnectionError if nobody listens any more."""
        if self._is_gone:
            raise BrokenPipeError
        self._lines.put_nowait(line)

    async def drain(self) -> None:
        """Return when everything was taken, or nobody listens any more."""
        await self._lines.join()

    async def close(self, within_s: float) -> None:
        """Let the host take what there is, if it does so in time."""
        await asyncio.wait([asyncio.create_task(self.drain())], timeout=within_s)
        self._posting.cancel()

    async def _post(self) -> None:
        while True:
            line = await self._lines.get()
            if not self._is_gone:
                try:
                    await self._writer.write(line)
                except OSError:
                    self._is_gone = True
            self._lines.task_done()
