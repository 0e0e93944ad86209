"""
Drive fake children while they run: they connect here, and do as they are told.

An end of file on a connection proves that its process is dead, an answer that it lives: nothing
sleeps and no pid is polled.  Every wait is bounded, so that a broken promise fails a test
instead of hanging it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shlex
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FAKE_CHILD = Path(__file__).with_name("fake_child.py")
FAKE_NODE = Path(__file__).with_name("node")
# The fake starts as lean as Python can: hundreds of them run in these tests.
FAKE_PI = (str(FAKE_NODE), sys.executable, "-I", "-S", str(FAKE_CHILD))
FAKE_PI_COMMAND = shlex.join(FAKE_PI)
ADDRESS_VARIABLE = "FAKE_CHILD_SOCKET"
PATIENCE_S = 30.0
MAX_REPLY_BYTES = 64 * 1024 * 1024


class FakeProcess:
    """One process at the other end of a connection: a child, or what a child left behind."""

    def __init__(
        self,
        introduction: dict[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.pid: int = introduction["pid"]
        self.role: str = introduction["role"]
        self.prompt_line: str = introduction.get("prompt", "")
        self.arguments: list[str] = introduction.get("arguments", [])
        self.environment: dict[str, str] = introduction.get("environment", {})
        self.cwd: str = introduction.get("cwd", "")
        self.mode: str = introduction.get("mode", "")
        self.session: str = introduction.get("session", "")  # of its own, where it was given one
        self._command: str = introduction.get("command", "")
        self._reader = reader
        self._writer = writer
        self._replies: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._orders = 0
        self._answers = 0
        self._ended = asyncio.Event()

    @property
    def run_id(self) -> str:
        """The run it serves; the mark in its environment is that of the first it served."""
        return self._command.removesuffix("-prompt") or self.environment["PI_SUBAGENTS_RUN"]

    # What it is told to do

    async def echo(self) -> None:
        """Return if the process lives."""
        await self.do("echo")

    async def prompt(self) -> bytes:
        return base64.b64decode((await self.do("prompt"))["prompt"])

    async def say(self, text: str, **more: object) -> None:
        await self.do("say", text=text, **more)

    async def settle(self) -> None:
        await self.do("settle")

    async def tool(self, name: str, arguments: dict[str, object], **more: object) -> None:
        await self.do("tool", name=name, arguments=arguments, **more)

    async def submit(self, value: object) -> None:
        """Give an answer by the tool for it, which takes it."""
        await self.tool("submit_answer", {"value": value}, details={"value": value})

    async def loop(
        self, times: int, name: str, arguments: dict[str, object], **more: object
    ) -> None:
        """Make the same call over and over; nobody may be left to confirm the last one."""
        for _ in range(times - 1):
            await self.tool(name, arguments, **more)
        self.tell("tool", name=name, arguments=arguments, **more)

    async def line(self, data: bytes) -> None:
        await self.write(data + b"\n")

    async def write(self, data: bytes, *, to: int = 1, until_read: bool = False) -> None:
        text = base64.b64encode(data).decode("ascii")
        await self.do("write", data=text, to=to, until_read=until_read)

    async def stderr(self, text: str) -> None:
        await self.write(text.encode("utf-8"), to=2)

    async def fork_setsid(self, **more: object) -> None:
        await self.do("fork_setsid", **more)

    async def exit(self, code: int) -> None:
        await self.do_last("exit", code=code)

    async def kill_self(self, number: signal.Signals) -> None:
        await self.do_last("kill_self", number=number)

    async def answer_and_exit(self, text: str, code: int = 0) -> None:
        """Do what a healthy child does at its end."""
        await self.say(text)
        await self.settle()
        await self.exit(code)

    # What only one in RPC mode can be told

    async def take_steer(self) -> str:
        """Let it read the oldest message that waits; return it."""
        text: str = (await self.do("take_steer"))["text"]
        return text

    async def ask_dialog(self, method: str, title: str, **more: object) -> dict[str, Any] | None:
        """Let it ask its user something; return what it was answered."""
        answer = await self.do("ask_dialog", method=method, title=title, **more)
        response: dict[str, Any] | None = answer["response"]
        return response

    async def do(self, verb: str, **arguments: object) -> dict[str, Any]:
        """Give an order and wait until it was carried out."""
        self.tell(verb, **arguments)
        async with asyncio.timeout(PATIENCE_S):
            while True:  # orders that nobody waited for are answered first
                reply = await self._replies.get()
                assert reply is not None, f"{self.role} {self.pid} died of {verb}"
                self._answers += 1
                if self._answers == self._orders:
                    return reply

    async def do_last(self, verb: str, **arguments: object) -> None:
        """Give an order that ends the process, and wait for its end."""
        self.tell(verb, **arguments)
        await self.gone()

    def tell(self, verb: str, **arguments: object) -> None:
        """Give an order without waiting for anything."""
        self._orders += 1
        self._writer.write(json.dumps({"verb": verb, **arguments}).encode("ascii") + b"\n")

    async def gone(self) -> None:
        """Return when the process is dead."""
        async with asyncio.timeout(PATIENCE_S):
            await self._ended.wait()

    @property
    def alive(self) -> bool:
        return not self._ended.is_set()

    def signal(self, number: signal.Signals) -> None:
        """Signal a process that is known to live: its supervisor has not reaped it."""
        assert self.alive
        os.kill(self.pid, number)

    # The connection

    async def serve(self) -> None:
        with suppress(ConnectionError):
            while line := await self._reader.readline():
                self._replies.put_nowait(json.loads(line))
        self._ended.set()
        self._replies.put_nowait(None)

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Driver:
    """Where fake processes connect; it knows who lives, and how many did at once."""

    def __init__(self) -> None:
        self.address = ""
        self.processes: list[FakeProcess] = []
        self.most_at_once = 0
        self._news = asyncio.Condition()

    @property
    def children(self) -> list[FakeProcess]:
        """Every child that ever connected, in the order of their coming."""
        return [process for process in self.processes if process.role == "child"]

    async def child(self, prompt: str) -> FakeProcess:
        """Return the child whose prompt begins with that line, once it is there."""
        return await self._process(lambda p: p.role == "child" and p.prompt_line == prompt)

    async def next_child(self, index: int) -> FakeProcess:
        """Return the child that came as number `index`, once it is there."""
        async with self._news, asyncio.timeout(PATIENCE_S):
            await self._news.wait_for(lambda: len(self.children) > index)
        return self.children[index]

    async def grandchild(self) -> FakeProcess:
        """Return the process that a child left behind, once it is there."""
        return await self._process(lambda p: p.role == "grandchild")

    async def grandchildren(self, count: int) -> list[FakeProcess]:
        """Return that many processes that children left behind."""

        def found() -> list[FakeProcess]:
            return [process for process in self.processes if process.role == "grandchild"]

        async with self._news, asyncio.timeout(PATIENCE_S):
            await self._news.wait_for(lambda: len(found()) >= count)
        return found()

    async def _process(self, wanted: Callable[[FakeProcess], bool]) -> FakeProcess:
        async with self._news, asyncio.timeout(PATIENCE_S):
            await self._news.wait_for(lambda: any(map(wanted, self.processes)))
        return next(filter(wanted, self.processes))

    async def on_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            introduction = json.loads(await reader.readline())
        except (ConnectionError, ValueError):  # it died while it said who it is
            writer.close()
            return
        process = FakeProcess(introduction, reader, writer)
        self.processes.append(process)
        alive = {child.pid for child in self.children if child.alive}
        self.most_at_once = max(self.most_at_once, len(alive))
        async with self._news:
            self._news.notify_all()
        await process.serve()
        await process.close()


@asynccontextmanager
async def open_driver() -> AsyncIterator[Driver]:
    """Listen on loopback for as long as a test lasts."""
    driver = Driver()
    server = await asyncio.start_server(driver.on_connection, "127.0.0.1", 0, limit=MAX_REPLY_BYTES)
    host, port = server.sockets[0].getsockname()
    driver.address = f"{host}:{port}"
    try:
        yield driver
    finally:
        server.close()
        for process in driver.processes:
            if process.alive:  # its open connection proves whose pid that is
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            await process.gone()
        await server.wait_closed()
