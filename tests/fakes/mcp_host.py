"""
A host of the Model Context Protocol: the real `subagents mcp`, and the SDK's own client to it.

In: a workplace, whose fake children the server's calls start.  Out: connected clients, and
processes whose end can be seen.  `exchange` speaks HTTP byte by byte, as no client would.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.e2e.command import ENTRY
from tests.fakes.driver import PATIENCE_S

import pi_subagents
from pi_subagents.faces.mcp_server.calls import McpCalls
from pi_subagents.faces.mcp_server.http import LIMITS, Limits, listen, serve_http
from pi_subagents.faces.mcp_server.server import build_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.client.session import ElicitationFnT
    from mcp.types import CallToolResult
    from tests.fakes.workplace import Workplace

    from pi_subagents.service.call import Options

SOURCES = Path(pi_subagents.__file__).parents[1]
LEGACY = "legacy"
NEWEST = "2026-07-28"
TOKEN = "a-token-for-tests-only"


@dataclass
class HttpServer:
    """A server over HTTP, as whoever has its token sees it."""

    url: str
    token: str
    process: asyncio.subprocess.Process | None = None

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @asynccontextmanager
    async def client(
        self, mode: str = LEGACY, person: ElicitationFnT | None = None
    ) -> AsyncIterator[Client]:
        headers = {"authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http,
            Client(
                streamable_http_client(self.url, http_client=http),
                mode=mode,
                elicitation_callback=person,
            ) as made,
        ):
            yield made

    def head(self, **changes: str | None) -> dict[str, str]:
        """Return the headers of a request that is served; None takes one away."""
        usual = {
            "Host": self.host,
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Connection": "close",
        }
        wanted = {**usual, **{name.replace("_", "-"): value for name, value in changes.items()}}
        return {name: value for name, value in wanted.items() if value is not None}

    async def post(self, body: bytes, **changes: str | None) -> Answered:
        """Return what a request is answered."""
        head = {**self.head(**changes), "Content-Length": str(len(body))}
        return await exchange(self.port, request_head("POST", head) + body)

    async def ask(self, method: str, params: Mapping[str, Any], **changes: str | None) -> Any:
        """Return the decoded answer to one JSON-RPC request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.post(json.dumps(message).encode(), **changes)).message


@dataclass
class Answered:
    """A response, byte by byte as it came."""

    status: int
    head: str
    body: bytes

    @property
    def message(self) -> Any:
        """The last JSON-RPC message in it, which may be an event of a stream."""
        lines = [line for line in self.body.decode().splitlines() if "{" in line]
        return json.loads(lines[-1][lines[-1].index("{") : lines[-1].rindex("}") + 1])


def request_head(method: str, headers: Mapping[str, str], path: str = "/mcp") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def exchange(port: int, sent: bytes) -> Answered:
    """Send bytes, and return what comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            writer.write(sent)
            data = await reader.read(-1)
    finally:
        writer.close()
    return answered(data)


def answered(data: bytes) -> Answered:
    head, _, body = data.partition(b"\r\n\r\n")
    return Answered(int(head.split(b" ")[1]), head.decode("latin-1").lower(), body)


@dataclass
class McpHost:
    """Somebody in a project whose hosts start `subagents mcp`."""

    project: Path
    env: dict[str, str]
    notes: Path  # what servers say on standard error

    @property
    def environment(self) -> dict[str, str]:
        return {**self.env, "PYTHONPATH": str(SOURCES)}

    @asynccontextmanager
    async def stdio(self, *arguments: str, mode: str = LEGACY, **env: str) -> AsyncIterator[Client]:
        """Connect as most hosts do."""
        started = StdioServerParameters(
            command=ENTRY[0],
            args=[*ENTRY[1:], "mcp", *arguments],
            env={**self.environment, **env},
            cwd=self.project,
        )
        with self.notes.open("a") as said:
            async with Client(stdio_client(started, errlog=said), mode=mode) as client:
                yield client

    async def start(self, *arguments: str, **env: str) -> asyncio.subprocess.Process:
        """Start the server with pipes, for whoever speaks by hand."""
        return await asyncio.create_subprocess_exec(
            *ENTRY, "mcp", *arguments,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.project, env={**self.environment, **env}, limit=64 * 1024 * 1024,
        )  # fmt: skip

    @asynccontextmanager
    async def http(self, *arguments: str) -> AsyncIterator[HttpServer]:
        """Serve over HTTP for as long as somebody wants it."""
        process = await self.start("--http", "--port", "0", "--json", *arguments)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE_S):
                heard = json.loads(await process.stdout.readuntil(b"}\n"))
            yield HttpServer(heard["url"], Path(heard["tokenFile"]).read_text().strip(), process)
        finally:
            if process.returncode is None:
                process.terminate()
            async with asyncio.timeout(PATIENCE_S):
                await process.communicate()


@asynccontextmanager
async def http_in_process(place: Workplace, limits: Limits = LIMITS) -> AsyncIterator[HttpServer]:
    """Serve over HTTP from this process, without a limit of time for calls."""
    options: Options = {"cwd": place.project, "env": place.env}
    calls = McpCalls(options, None, tick_s=0.01)
    listening = listen(0)
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_http(build_server(calls, options), listening, TOKEN, url.set_result, limits)
    )
    try:
        yield HttpServer(await url, TOKEN)
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        await calls.close()


def text_of(result: CallToolResult) -> str:
    """Return all that a result says."""
    return "\n".join(texts_of(result))


def texts_of(result: CallToolResult) -> list[str]:
    """Return the texts of a result, one by one."""
    return [block.text for block in result.content if block.type == "text"]


def value_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured value of a result that is no refusal."""
    assert not result.is_error, text_of(result)
    value: dict[str, Any] = result.structured_content
    return value


def tasks(*names: str) -> dict[str, Any]:
    """Return the parameters of a delegation; a name is its prompt, too."""
    return {"tasks": [{"name": name, "prompt": name} for name in names]}


@dataclass
class Progress:
    """What a host is told while it waits."""

    lines: list[str | None] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        self.lines.append(message)
        self.times.append(progress)
        self._news.set()

    async def says(self, text: str) -> None:
        """Return when something was told that holds the text."""
        async with asyncio.timeout(PATIENCE_S):
            while not any(text in (line or "") for line in self.lines):
                self._news.clear()
                await self._news.wait()


class HurriedCalls(McpCalls):
    """Calls whose time is up when a test says so."""

    time_is_up: asyncio.Event | None = None

    async def _end_or_deadline(self, task: asyncio.Task[dict[str, object]]) -> None:
        if self.time_is_up is None:
            await super()._end_or_deadline(task)
        else:
            up = asyncio.create_task(self.time_is_up.wait())
            await asyncio.wait({task, up}, return_when=asyncio.FIRST_COMPLETED)
            up.cancel()


@asynccontextmanager
async def in_process(
    place: Workplace,
    within_s: float | None = None,
    mode: str = LEGACY,
    time_is_up: asyncio.Event | None = None,
    person: ElicitationFnT | None = None,
    **more: Any,
) -> AsyncIterator[Client]:
    """Connect to a server in this process, which starts as quickly as nothing."""
    options = cast("Options", {"cwd": place.project, "env": place.env, **more})
    calls = HurriedCalls(options, within_s, tick_s=0.01)
    calls.time_is_up = time_is_up
    server = build_server(calls, options)
    async with Client(server, mode=mode, elicitation_callback=person) as client:
        try:
            yield client
        finally:
            async with asyncio.timeout(PATIENCE_S):
                await calls.close()
