"""
A host for `subagents bridge`: what the shim in pi does, driven by a test.

Everything that the core says is kept in its order; every wait is bounded and ends with the line
that was waited for.  Dialogs are answered by a function of the test.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

from tests.fakes.driver import PATIENCE_S

import pi_subagents
from pi_subagents.faces.bridge.params import PROTOCOL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

SOURCES = Path(pi_subagents.__file__).parents[1]
MAIN = "from pi_subagents.faces.cli.main import main; main(['bridge'])"
LIMIT = 64 * 1024 * 1024

Json = dict[str, Any]


class BridgeHost:
    """One core, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process, cwd: Path) -> None:
        self.process = process
        self.cwd = cwd
        self.lines: list[Json] = []
        self.offer: Json = {}  # what the main model is to be told, as of the latest greeting
        self.answers_dialogs = True
        self.dialog: Callable[[Json], object] = lambda _: None
        self._numbers = iter(range(1, 10**6))
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    # What the host says

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def ask(self, method: str, **params: object) -> int:
        """Send a request without waiting; return its id."""
        number = next(self._numbers)
        self.send({"id": number, "method": method, "params": params})
        return number

    def tell(self, method: str, **params: object) -> None:
        self.send({"method": method, "params": params})

    async def request(self, method: str, **params: object) -> Any:
        """Return the result of a request."""
        answer = await self.answer(self.ask(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    async def failure(self, method: str, **params: object) -> Json:
        """Return why a request has no result."""
        answer = await self.answer(self.ask(method, **params))
        assert "result" not in answer, answer
        failure: Json = answer["error"]
        return failure

    async def open(
        self, *entries: object, reason: str = "startup", session: str = "s1", **more: object
    ) -> Any:
        """Say hello, and which session is open; return how its background runs stand."""
        opened = {"sessionId": session, "reason": reason, "entries": list(entries), **more}
        heard = await self.request(
            "hello", protocol=PROTOCOL, cwd=str(self.cwd), host="pi", **opened
        )
        assert (heard.pop("protocol"), heard.pop("version")) == (PROTOCOL, pi_subagents.__version__)
        self.offer = {key: heard.pop(key) for key in ("tools", "modelsRoom")}
        return heard

    def begin(self, call_id: str, tool: str, arguments: object, **more: object) -> int:
        """Call a tool without waiting."""
        given = {"cwd": str(self.cwd), **more}
        return self.ask("call", callId=call_id, tool=tool, arguments=arguments, **given)

    async def call(self, tool: str, arguments: object, **more: object) -> Json:
        """Return the value of a tool."""
        answer = await self.answer(self.begin(f"call {tool}", tool, arguments, **more))
        assert "error" not in answer, answer
        result: Json = answer["result"]
        return result

    # What the core says

    async def answer(self, number: int) -> Json:
        """Return the answer to a request, which must be the only one."""
        return await self.line(lambda each: each.get("id") == number and "method" not in each)

    async def heard(
        self, method: str, wanted: Callable[[Json], bool] = lambda _: True, skip: int = 0
    ) -> Json:
        """Return the parameters of a notification, once it is there."""
        found = await self.line(
            lambda each: each.get("method") == method and wanted(each["params"]), skip
        )
        params: Json = found["params"]
        return params

    def all_told(self, method: str) -> list[Json]:
        return [each["params"] for each in self.lines if each.get("method") == method]

    async def line(self, wanted: Callable[[Json], bool], skip: int = 0) -> Json:
        def found() -> list[Json]:
            return [each for each in self.lines if wanted(each)]

        async with self._news, asyncio.timeout(PATIENCE_S):
            await self._news.wait_for(lambda: len(found()) > skip or self._reading.done())
        assert len(found()) > skip, f"the core ended without it; it said {self.lines[-5:]}"
        return found()[skip]

    async def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            while line := await self.process.stdout.readline():
                said: Json = json.loads(line)
                assert said["jsonrpc"] == "2.0"
                self.lines.append(said)
                if said.get("method") == "dialog" and self.answers_dialogs:
                    value = self.dialog(said["params"])
                    self.send({"id": said["id"], "result": value})
                async with self._news:
                    self._news.notify_all()
        finally:
            async with self._news:
                self._news.notify_all()

    # How it ends

    async def bye(self) -> int:
        """Say goodbye as the shim does, without waiting, and return the exit code."""
        self.ask("bye", reason="quit")
        return await self.vanish()

    async def vanish(self) -> int:
        """Close the wire without a word, and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await self.exit_code()

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            code = await self.process.wait()
            await self._reading
        return code

    async def stderr(self) -> str:
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            return (await self.process.stderr.read()).decode()

    async def leave(self) -> None:
        """End what a failed test left."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._reading.cancel()
        with suppress(asyncio.CancelledError, AssertionError):
            await self._reading


@asynccontextmanager
async def open_bridge(
    cwd: Path, env: Mapping[str, str], code: str = MAIN
) -> AsyncIterator[BridgeHost]:
    """Start a core in a directory, for as long as a test lasts."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        cwd=cwd,
        env={**env, "PYTHONPATH": str(SOURCES)},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=LIMIT,
    )
    host = BridgeHost(process, cwd)
    try:
        yield host
    finally:
        await host.leave()
