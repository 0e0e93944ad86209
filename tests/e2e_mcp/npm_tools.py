"""
Clients of other people, from npm.

The conformance tool cannot bring a token along: `with_token` stands between it and the server and
adds one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.agents.installed import node, program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.mcp_host import HttpServer

PATIENCE_S = 120


def npm_tool(name: str) -> list[str]:
    """Return the command line of a tool."""
    return [node(), program(name)]


async def run(argv: list[str], cwd: Path, home: Path) -> tuple[int | None, str, str]:
    """Run a tool with a home of its own."""
    env = {"HOME": str(home), "PATH": f"{Path(argv[0]).parent}:{os.environ['PATH']}"}
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def with_token(server: HttpServer) -> AsyncIterator[str]:
    """Yield an address behind which every request has the token; all else passes as it is."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.IncompleteReadError:  # a client that connected ahead, and needed it not
            writer.close()
            return
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        kept = [line for line in lines if not line.lower().startswith("connection:")]
        own = [line.replace(f"127.0.0.1:{port}", server.host) for line in kept]
        added = [f"Authorization: Bearer {server.token}", "Connection: close", "", ""]
        there, sending = await asyncio.open_connection("127.0.0.1", server.port)
        sending.write("\r\n".join([first, *own, *added]).encode("latin-1"))
        await asyncio.wait(
            {
                asyncio.create_task(pass_on(reader, sending)),
                asyncio.create_task(pass_on(there, writer)),
            },
            return_when=asyncio.FIRST_COMPLETED,
        )
        sending.close()
        writer.close()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        proxy.close()


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
