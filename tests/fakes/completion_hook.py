"""
A user's command for the end of a background run: it repeats what it is told on a loopback port.

In: nothing.  Out: the command for the setting `on_complete`, and what it was told, in order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.fakes.driver import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOOK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as link:
    link.sendall(sys.stdin.buffer.read())
"""


class Hook:
    """A user's command that repeats here what it is told."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.command: list[str] = []

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.put_nowait(json.loads(await reader.read()))
        writer.close()

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            return await self.heard.get()


@asynccontextmanager
async def open_hook() -> AsyncIterator[Hook]:
    """Listen for as long as the `with` lasts."""
    made = Hook()
    async with await asyncio.start_server(made.take, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        made.command = [sys.executable, "-I", "-S", "-c", HOOK, host, str(port)]
        yield made
