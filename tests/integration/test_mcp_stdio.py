"""The real `subagents mcp` over standard input and output, driven by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from tests import tool_names
from tests.e2e.command import ENTRY
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import NEWEST, McpHost, Progress, tasks, text_of, value_of
from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents._version import __version__
from pi_subagents.core import messages as core_messages
from pi_subagents.errors import McpNotInstalled
from pi_subagents.faces.mcp_server import messages as mcp_server_messages
from pi_subagents.faces.mcp_server.stdio import MAX_MESSAGE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace


@pytest.fixture
def host(place: Workplace, tmp_path: Path) -> McpHost:
    return McpHost(place.project, place.env, tmp_path / "stderr")


class Wire:
    """A host that writes and reads lines itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin, self.stdout = process.stdin, process.stdout

    def send(self, *messages: object) -> None:
        for message in messages:
            self.stdin.write(json.dumps(message).encode() + b"\n")

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await self.stdout.readline())

    async def initialized(self, version: str) -> Any:
        """Shake hands, and return what the server says of itself."""
        self.send(initialize(version), {"jsonrpc": "2.0", "method": "notifications/initialized"})
        return (await self.next())["result"]

    async def end(self) -> tuple[int, bytes, bytes]:
        """Close the server's input; return its exit code and what else it said."""
        self.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, out, err


def initialize(version: str) -> dict[str, Any]:
    me = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": me}
    return request("initialize", params, number=0)


def request(method: str, params: object = None, number: int | str = 1) -> dict[str, Any]:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given}


def call(tool: str, parameters: object, number: int = 1) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": parameters}, number)


async def test_a_delegation_with_progress_by_the_sdks_own_client(
    place: Workplace, host: McpHost
) -> None:
    progress = Progress()
    async with host.stdio() as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("subagents", __version__)
        call = asyncio.create_task(
            client.call_tool(tool_names.DELEGATE, tasks("a", "b"), progress_callback=progress)
        )
        a, b = await place.child("a"), await place.child("b")
        await a.tool("bash", {"command": "make test"})
        await progress.says("make test")
        await a.answer_and_exit("first")
        await b.answer_and_exit("second")
        value = value_of(await call)
    assert [(each["name"], each["output"]) for each in value["results"]] == [
        ("a", "first"),
        ("b", "second"),
    ]
    assert host.notes.read_text() == ""


async def test_the_newest_revision_answers_in_time_and_the_work_goes_on(
    place: Workplace, host: McpHost
) -> None:
    async with host.stdio("--answer-within", "0.3", mode="auto") as client:
        assert client.protocol_version == NEWEST
        running = await client.call_tool(tool_names.DELEGATE, tasks("slow", "stopped"))
        slow, stopped = (each["sessionId"] for each in value_of(running)["results"])
        assert " s: 2 of 2. The work goes on by itself.\n" in text_of(running)
        child = await place.child("slow")
        early = await client.call_tool(
            tool_names.GET_OUTPUT, {"sessionId": slow, "waitSeconds": 3000}
        )
        assert text_of(early).endswith(core_messages.session_goes_on(0.3))
        second = await place.child("stopped")
        await client.call_tool(tool_names.BACKGROUND_STOP, {"runId": stopped})
        await second.gone()
        await child.say("at last")
        await child.settle()
        await child.exit(0)
        late = value_of(
            await client.call_tool(tool_names.GET_OUTPUT, {"sessionId": slow, "waitSeconds": 3000})
        )
        while late["status"] == "running":
            again = {"sessionId": slow, "waitSeconds": 3000}
            late = value_of(await client.call_tool(tool_names.GET_OUTPUT, again))
        assert (late["status"], late["text"]) == ("completed", "at last")


@pytest.mark.parametrize("end", ["stdin", signal.SIGTERM])
async def test_an_orderly_end_leaves_no_process(
    place: Workplace, host: McpHost, end: signal.Signals | str
) -> None:
    wire = Wire(await host.start("--answer-within", "0.05"))
    assert (await wire.initialized("2025-11-25"))["protocolVersion"] == "2025-11-25"
    wire.send(call(tool_names.DELEGATE, tasks("early"), 1))
    assert (await wire.next())["result"]["structuredContent"]["status"] == "running"
    child = await place.child("early")
    if isinstance(end, signal.Signals):
        wire.process.send_signal(end)
        async with asyncio.timeout(PATIENCE_S):
            await wire.process.wait()
    code, out, err = await wire.end()
    assert (code, out, err) == (0, b"", b"")
    await child.gone()
    (result,) = [run_dir.read_result() for run_dir in place.run_dirs()]
    assert result is not None
    assert result.status == "aborted"


async def test_a_host_that_stops_reading_ends_the_connection(
    place: Workplace, host: McpHost
) -> None:
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *ENTRY, "mcp", stdin=asyncio.subprocess.PIPE, stdout=writing,
        stderr=asyncio.subprocess.PIPE, cwd=host.project, env=host.environment,
    )  # fmt: skip
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    process.stdin.write(json.dumps(initialize("2025-11-25")).encode() + b"\n")
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_S):
        said = await process.stderr.read()
        assert (await process.wait(), said) == (0, b"")
    process.stdin.close()


async def test_a_call_that_is_cancelled_gets_no_answer_and_leaves_no_process(
    place: Workplace, host: McpHost
) -> None:
    wire = Wire(await host.start())
    await wire.initialized("2025-06-18")
    wire.send(call(tool_names.DELEGATE, tasks("a", "b"), 7))
    children = [await place.child("a"), await place.child("b")]
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    for child in children:
        await child.gone()
    wire.send(request("ping", number=8))
    assert await wire.next() == {"jsonrpc": "2.0", "id": 8, "result": {}}
    assert await wire.end() == (0, b"", b"")


async def test_strange_lines_are_answered_and_the_connection_goes_on(host: McpHost) -> None:
    wire = Wire(await host.start())
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100_000
    for line in (
        b"\xff\xfe",
        b"{not json",
        deep,
        b'{"jsonrpc": "2.0", "id": 5}',
        b"[]",
        b"",
        b"  ",
    ):
        wire.stdin.write(line + b"\n")
    codes = [(each["id"], each["error"]["code"]) for each in [await wire.next() for _ in range(5)]]
    assert codes == [(None, -32700), (None, -32700), (None, -32700), (5, -32600), (None, -32600)]
    wire.stdin.write(b"x" * (MAX_MESSAGE + 1) + b"\n")
    heard = await wire.next()
    assert heard == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {
            "code": -32700,
            "message": mcp_server_messages.message_too_long(MAX_MESSAGE + 1, MAX_MESSAGE),
        },
    }
    assert (await wire.initialized("2024-11-05"))["protocolVersion"] == "2024-11-05"
    wire.stdin.write(b'{"jsonrpc": "2.0", "id": 9, "meth')
    code, out, err = await wire.end()
    assert (code, json.loads(out)["error"]["code"], err) == (0, -32700, b"")


async def test_stray_prints_never_reach_the_wire(host: McpHost, tmp_path: Path) -> None:
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import os, subprocess, sys, threading\n"
        "print('noisy at import')\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'mcp':\n"
        "            print('noisy print', flush=True)\n"
        "            os.write(1, b'noisy bytes\\n')\n"
        "            subprocess.run(['echo', 'noisy child'])\n"
        "        return None\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    path = f"{host.environment['PYTHONPATH']}:{noisy}"
    wire = Wire(await host.start(PYTHONPATH=path))
    assert (await wire.initialized("2025-11-25"))["serverInfo"]["name"] == "subagents"
    code, out, err = await wire.end()
    assert (code, out) == (0, b"")
    assert set(err.decode().split("\n")) == {
        "noisy at import", "noisy print", "noisy bytes", "noisy child", "",
    }  # fmt: skip


async def test_without_the_library_the_error_says_how_to_get_it(
    host: McpHost, tmp_path: Path
) -> None:
    without = tmp_path / "without"
    without.mkdir()
    (without / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'mcp':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Blocker())\n"
    )
    path = f"{host.environment['PYTHONPATH']}:{without}"
    for arguments in ((), ("--http", "--port", "0")):
        process = await host.start(*arguments, PYTHONPATH=path)
        code, out, err = await Wire(process).end()
        assert (code, out, err.decode()) == (2, b"", f"Error: {McpNotInstalled()}\n")


async def test_kill_9_ends_attached_children_and_a_new_server_finds_everything(
    place: Workplace, host: McpHost
) -> None:
    PresetPlace(place).preset("scout", f"model: {MODEL}")
    wire = Wire(await host.start())
    await wire.initialized("2025-11-25")
    wire.send(call(tool_names.DELEGATE, tasks("attached"), 1))
    attached = await place.child("attached")
    wire.send(call(tool_names.BACKGROUND, {"preset": "scout", "task": "background"}, 2))
    begun = (await wire.next())["result"]["structuredContent"]
    background: FakeProcess = await place.child("background")
    wire.process.kill()
    await wire.process.wait()
    await attached.gone()
    await background.echo()
    async with host.stdio() as client:
        session = place.run_dir(attached).read_meta()["sessionId"]
        heard = value_of(await client.call_tool(tool_names.GET_OUTPUT, {"sessionId": session}))
        assert (heard["status"], heard["taskName"]) == ("error", "attached")
        mine = {"runId": begun["runId"], "waitSeconds": 20}
        waiting = asyncio.create_task(client.call_tool(tool_names.BACKGROUND_STATUS, mine))
        await background.answer_and_exit("went on")
        (row,) = value_of(await waiting)["runs"]
        assert (row["status"], row["output"]) == ("completed", "went on")
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        assert f"subagents://sessions/{session}/result" in listed
    await wire.end()


async def test_two_servers_and_the_shell_share_the_store_and_one_limit_of_children(
    place: Workplace, host: McpHost, tmp_path: Path
) -> None:
    elsewhere = McpHost(tmp_path, host.env, tmp_path / "stderr")
    here = ("--cwd", str(place.project))
    (place.home / ".pi/agent/settings.json").write_text(
        '{"subagents": {"max_machine_children": 2}}'
    )
    async with host.stdio("--answer-within", "0.2") as one, elsewhere.stdio(*here) as two:
        first = value_of(await one.call_tool(tool_names.DELEGATE, tasks("a")))
        a = await place.child("a")
        second = asyncio.create_task(two.call_tool(tool_names.DELEGATE, tasks("b", "c")))
        in_shell = place.delegate_by_api("d")
        async with asyncio.timeout(PATIENCE_S):
            while len(place.run_dirs()) < 4:
                await asyncio.sleep(0.01)
        await place.driver.next_child(1)
        session = first["results"][0]["sessionId"]
        waiting = asyncio.create_task(
            two.call_tool(tool_names.GET_OUTPUT, {"sessionId": session, "waitSeconds": 20})
        )
        await a.answer_and_exit("1")
        assert value_of(await waiting)["text"] == "1"
        for number in range(3):
            child = await place.driver.next_child(number + 1)
            await child.answer_and_exit(child.prompt_line)
        value = value_of(await second)
        assert [each["output"] for each in value["results"]] == ["b", "c"]
        assert (await in_shell.result()).output == "d"
        found = value_of(
            await one.call_tool(
                tool_names.GET_OUTPUT, {"sessionId": value["results"][1]["sessionId"]}
            )
        )
        assert found["text"] == "c"
    assert place.driver.most_at_once == 2
