"""The real `subagents mcp --http`: who may speak to it, what it serves, what it refuses."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from tests import tool_names
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import (
    NEWEST,
    Answered,
    HttpServer,
    McpHost,
    Progress,
    answered,
    exchange,
    http_in_process,
    request_head,
    tasks,
    text_of,
    value_of,
)
from tests.fakes.preset_place import MODEL, PresetPlace
from tests.fakes.processes import peak_memory
from tests.fakes.workplace import open_workplace

from pi_subagents.core.messages import STOPPED_ON_REQUEST
from pi_subagents.errors import PortUnavailable, TokenFileUnusable
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.mcp_server import messages as mcp_server_messages
from pi_subagents.faces.mcp_server.http import MAX_BODY, Limits
from pi_subagents.faces.mcp_server.prompts import PROMPTS, prompt_text
from pi_subagents.faces.mcp_server.strangers import Strangers
from pi_subagents.service import messages as service_messages
from pi_subagents.service.tools.offer import instructions, offered_tools
from pi_subagents.service.tools.registry import TOOLS, all_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.fakes.workplace import Workplace

pytestmark = pytest.mark.asyncio(loop_scope="module")
INITIALIZE = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
OPENING = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", **INITIALIZE},
    }
).encode()
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MEMORY = 48 * 1024 * 1024


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workplace]:
    async with open_workplace(tmp_path_factory.mktemp("mcp")) as made:
        PresetPlace(made).preset("scout", f"model: {MODEL}")
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(place: Workplace) -> AsyncIterator[HttpServer]:
    """One server for all of these tests: it must stand all of them."""
    host = McpHost(place.project, place.env, place.home / "stderr")
    async with host.http("--answer-within", "0.5") as serving:
        yield serving


# Served


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_delegation_with_progress_by_the_sdks_own_client(
    place: Workplace, server: HttpServer, mode: str
) -> None:
    async with server.client(mode) as client:
        assert client.protocol_version == (NEWEST if mode == "auto" else "2025-11-25")
        name = f"a {mode}"
        running = await client.call_tool(tool_names.DELEGATE, tasks(name))
        session = value_of(running)["results"][0]["sessionId"]
        await (await place.child(name)).answer_and_exit("first")
        while True:
            asked = {"sessionId": session, "waitSeconds": 60}
            heard = value_of(await client.call_tool(tool_names.GET_OUTPUT, asked))
            if heard["status"] != "running":
                break
        assert (heard["status"], heard["text"]) == ("completed", "first")
        refused = await client.call_tool(tool_names.DELEGATE, {"tasks": []})
        assert (refused.is_error, text_of(refused)) == (
            True,
            "tasks: must hold 1 to 16 tasks, not 0",
        )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_call_that_the_host_cancels_stops_its_children(place: Workplace, mode: str) -> None:
    """By a message and, in the newest revision, by closing the response."""
    async with http_in_process(place) as here, here.client(mode) as client:
        progress, name = Progress(), f"cancelled {mode}"
        call = asyncio.create_task(
            client.call_tool(tool_names.DELEGATE, tasks(name), progress_callback=progress)
        )
        child = await place.child(name)
        await progress.says("1 running")
        call.cancel()
        await child.gone()
        await asyncio.gather(call, return_exceptions=True)
    result = place.run_dir(child).read_result()
    assert result is not None
    assert result.status == "aborted"


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_every_older_revision_is_negotiated(server: HttpServer, version: str) -> None:
    answer = await server.ask("initialize", {"protocolVersion": version, **INITIALIZE})
    assert answer["result"]["protocolVersion"] == version
    assert answer["result"]["serverInfo"]["name"] == "subagents"
    assert answer["result"]["instructions"] == instructions(all_tools())
    assert set(answer["result"]["capabilities"]) >= {"tools", "resources", "prompts"}


async def test_an_unknown_revision_gets_the_newest_that_shakes_hands(server: HttpServer) -> None:
    answer = await server.ask("initialize", {"protocolVersion": "1999-01-01", **INITIALIZE})
    assert answer["result"]["protocolVersion"] == "2025-11-25"


async def test_an_unknown_revision_in_the_header_is_refused_with_those_there_are(
    server: HttpServer,
) -> None:
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": "2099-01-01", f"{prefix}/clientCapabilities": {}}
    answer = await server.ask(
        "tools/list", {"_meta": meta}, MCP_Protocol_Version="2099-01-01", Mcp_Method="tools/list"
    )
    assert answer["error"]["data"] == {"supported": [NEWEST], "requested": "2099-01-01"}


async def test_tools_are_those_of_everywhere_with_what_a_host_may_show(
    place: Workplace, server: HttpServer
) -> None:
    async with server.client("auto") as client:
        tools = (await client.list_tools()).tools
    assert [(tool.name, tool.description, tool.input_schema) for tool in tools] == [
        (tool.name, tool.description, tool.parameters)
        for tool in offered_tools(place.project, place.env, trusted=False).tools
    ]
    hints = {tool.name: tool.annotations for tool in tools}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
        tool_names.GET_OUTPUT,
        tool_names.GET_SESSION,
        tool_names.LIST_PROFILES,
        tool_names.BACKGROUND_STATUS,
    }
    assert all(hint and hint.destructive_hint is not hint.read_only_hint for hint in hints.values())


async def test_resources_prompts_and_templates(place: Workplace, server: HttpServer) -> None:
    async with server.client("auto") as client:
        running = await client.call_tool(tool_names.DELEGATE, tasks("for a resource"))
        session = value_of(running)["results"][0]["sessionId"]
        await (await place.child("for a resource")).answer_and_exit("kept")
        await asyncio.to_thread(place.run_dirs()[-1].desk.wait_for_end, PATIENCE_S)
        listed = {str(each.uri) for each in (await client.list_resources()).resources}
        assert {
            f"subagents://sessions/{session}",
            f"subagents://sessions/{session}/result",
            "subagents://profiles/keyed",
            "subagents://presets/scout",
        } <= listed
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "subagents://sessions/{sessionId}",
            "subagents://sessions/{sessionId}/result",
            "subagents://profiles/{name}",
            "subagents://presets/{name}",
        ]
        prompts = (await client.list_prompts()).prompts
        assert [(each.name, each.title) for each in prompts] == [
            (each.name, each.title) for each in PROMPTS
        ]
        given = {"subject": "src/{x}"}
        got = await client.get_prompt("parallel-review", given)
        assert [
            message.content.text for message in got.messages if message.content.type == "text"
        ] == [prompt_text(PROMPTS[0], given)]


# Refused


async def refused(answer: Answered, status: int, words: str) -> None:
    assert (answer.status, answer.body.decode()) == (status, words)
    assert "connection: close" in answer.head


@pytest.mark.parametrize(
    "host",
    ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:{port}", ""],
)
async def test_another_host_is_refused(server: HttpServer, host: str) -> None:
    """DNS rebinding: a page of evil.test that resolves to loopback."""
    answer = await server.post(PING, Host=host.format(port=server.port))
    await refused(answer, 421, mcp_server_messages.WRONG_HOST)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
async def test_the_names_of_loopback_are_served(server: HttpServer, name: str) -> None:
    own = f"{name}:{server.port}"
    answer = await server.post(b"{}", Host=own, Origin=f"http://{own}")
    assert answer.status == 400


@pytest.mark.parametrize(
    "origin",
    ["https://evil.test", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", "file://", ""],
)
async def test_a_web_page_is_refused(server: HttpServer, origin: str) -> None:
    answer = await server.post(PING, Origin=origin.format(port=server.port))
    await refused(answer, 403, mcp_server_messages.WRONG_ORIGIN)


@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x",
     "Bearer \xe9\xff"],
)  # fmt: skip
async def test_without_the_token_nothing_is_served(server: HttpServer, given: str | None) -> None:
    value = given and given.format(token=server.token)
    answer = await server.post(PING, Authorization=value)
    await refused(answer, 401, mcp_server_messages.NEEDS_BEARER)
    assert "www-authenticate: bearer" in answer.head


async def test_a_session_id_is_no_authority(server: HttpServer) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    params = {"protocolVersion": "2025-11-25", **INITIALIZE}
    opened = await server.post(json.dumps({**body, "params": params}).encode())
    (session,) = [line for line in opened.head.split("\r\n") if line.startswith("mcp-session-id")]
    number = session.split(": ")[1]
    served = await server.post(PING, Mcp_Session_Id=number)
    assert served.message == {"jsonrpc": "2.0", "id": 1, "result": {}}
    answer = await server.post(PING, Mcp_Session_Id=number, Authorization=None)
    await refused(answer, 401, mcp_server_messages.NEEDS_BEARER)


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
async def test_the_scheme_is_written_in_any_case(server: HttpServer, scheme: str) -> None:
    assert (await server.post(b"{}", Authorization=f"{scheme} {server.token}")).status == 400


async def test_a_body_that_says_it_is_too_large_is_refused_unread(server: HttpServer) -> None:
    head = {**server.head(), "Content-Length": str(MAX_BODY + 1)}
    await refused(
        await exchange(server.port, request_head("POST", head)),
        413,
        mcp_server_messages.BODY_TOO_LARGE,
    )


async def test_a_body_in_pieces_is_counted(server: HttpServer) -> None:
    head = request_head("POST", {**server.head(), "Transfer-Encoding": "chunked"})
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head + piece * (MAX_BODY // 0x10000))
    await writer.drain()
    writer.write(b"1\r\n \r\n")
    async with asyncio.timeout(PATIENCE_S):
        await refused(answered(await reader.read(-1)), 413, mcp_server_messages.BODY_TOO_LARGE)
    writer.close()


async def test_the_largest_body_is_read(server: HttpServer) -> None:
    answer = await server.post(b" " * MAX_BODY)
    assert (answer.status, answer.message["error"]["code"]) == (400, -32700)
    assert server.process is not None
    before = peak_memory(server.process.pid)
    await asyncio.gather(*(server.post(b" " * MAX_BODY) for _ in range(2)))
    assert peak_memory(server.process.pid) - before < MEMORY


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", -32700), (b"{not json", -32700), (b"\xff", -32700), (b"[" * 100_000, -32700),
     (b"[]", -32600), (b"{}", -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600)],
)  # fmt: skip
async def test_a_body_that_is_no_message_is_refused(
    server: HttpServer, body: bytes, code: int
) -> None:
    answer = await server.post(body)
    assert answer.status == 400
    assert answer.message["error"]["code"] in (code, -32600, -32602), answer


@pytest.mark.parametrize(
    "sent",
    [b"nonsense\r\n\r\n", b"GET /mcp HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"\x16\x03\x01\x02\x00",
     b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n"],
)  # fmt: skip
async def test_what_is_no_http_is_refused(server: HttpServer, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    answer = b""
    async with asyncio.timeout(PATIENCE_S):
        with suppress(OSError):  # the server may be done with us before we are
            writer.write_eof()
            answer = await reader.read(-1)
    assert answer.split(b" ")[1:2] in ([b"400"], [b"421"], [])
    writer.close()


async def test_other_paths_and_upgrades_lead_nowhere(server: HttpServer) -> None:
    head = server.head()
    assert (await exchange(server.port, request_head("GET", head, "/"))).status == 404
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    nobody = {**upgrade, "Host": server.host}
    answer = await exchange(server.port, request_head("GET", nobody))
    await refused(answer, 401, mcp_server_messages.NEEDS_BEARER)


async def test_a_hundred_open_connections_keep_nobody_from_being_served(server: HttpServer) -> None:
    others = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(100)]
    for number, (_, writer) in enumerate(others):
        writer.write(b"POST /mcp HTTP/1.1\r\nHost: "[: number % 28])
    async with server.client() as client:
        assert len((await client.list_tools()).tools) == len(TOOLS)
    for _, writer in others:
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: "],
    ids=["nothing", "a letter", "half a head"],
)
async def test_a_head_that_does_not_come_is_not_waited_for(place: Workplace, sent: bytes) -> None:
    async with http_in_process(place, Limits(stranger_s=0.1)) as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.read(-1) == b""
        writer.close()


async def test_a_body_that_does_not_come_is_not_waited_for(place: Workplace) -> None:
    async with http_in_process(place, Limits(arrival_s=0.1)) as here:
        head = request_head("POST", {**here.head(), "Content-Length": "100"})
        answer = await exchange(here.port, head + b"{")
        await refused(answer, 408, mcp_server_messages.BODY_TOO_SLOW)


async def test_a_request_that_came_in_time_is_not_cut(place: Workplace) -> None:
    async with http_in_process(place, Limits(stranger_s=0.1)) as here, here.client() as client:
        call = asyncio.create_task(client.call_tool(tool_names.DELEGATE, tasks("patient")))
        child = await place.child("patient")
        for _ in range(3):  # three requests on other connections, each later than the limit
            reader, writer = await asyncio.open_connection("127.0.0.1", here.port)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read(-1) == b""
            writer.close()
        await child.answer_and_exit("done")
        assert value_of(await call)["status"] == "done"


class Crowd:
    """Connections that stay open until everybody goes."""

    def __init__(self, here: HttpServer) -> None:
        self._here = here
        self._writers: list[asyncio.StreamWriter] = []

    async def stranger(self, sent: bytes = b"") -> asyncio.StreamReader:
        """Connect, show no token, and stay."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._here.port)
        self._writers.append(writer)
        writer.write(sent)
        return reader

    async def known(self) -> None:
        """Connect, show the token, and stay."""
        kept = {**self._here.head(), "Connection": "keep-alive", "Content-Length": f"{len(PING)}"}
        reader = await self.stranger(request_head("POST", kept) + PING)
        async with asyncio.timeout(PATIENCE_S):
            assert b" 400 " in await reader.readline()  # heard, though it makes no sense alone

    def leave(self) -> None:
        for writer in self._writers:
            writer.close()


@contextmanager
def crowd(here: HttpServer) -> Iterator[Crowd]:
    made = Crowd(here)
    try:
        yield made
    finally:
        made.leave()


async def all_cut(readers: list[asyncio.StreamReader]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        for reader in readers:
            with suppress(ConnectionResetError):
                await reader.read(-1)


async def test_however_many_show_no_token_whoever_has_one_is_served(place: Workplace) -> None:
    limits = Limits(connections=4, strangers=8, stranger_s=PATIENCE_S)
    async with http_in_process(place, limits) as here:
        with crowd(here) as people:
            heads = (b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: ", b"GET / HTTP/1.1\r\nA: b\r\n")
            others = [await people.stranger(heads[number % 4]) for number in range(100)]
            for _ in range(3):
                await people.known()
            assert (await here.post(OPENING)).status == 200
            await all_cut(others[:88])  # eight are left, whatever they began to say


async def test_whoever_shows_no_token_in_time_is_cut(place: Workplace) -> None:
    async with http_in_process(place, Limits(stranger_s=0.1)) as here:
        wrong = {**here.head(), "Authorization": "Bearer wrong", "Content-Length": "100"}
        with crowd(here) as people:
            await people.known()
            others = [
                await people.stranger(sent)
                for sent in (b"", b"POST /mcp HTTP/1.1\r\n", request_head("POST", wrong))
            ]
            await all_cut(others)
            assert (await here.post(OPENING)).status == 200


async def test_programs_of_other_users_are_not_even_heard(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int, int]] = []

    def foreign(*peer: Any) -> bool:
        asked.append(peer)
        return False

    monkeypatch.setattr(Strangers.__init__, "__kwdefaults__", {"is_own": foreign})
    async with http_in_process(place) as here:
        with pytest.raises((ConnectionResetError, IndexError)):  # cut, or closed without a word
            await here.post(OPENING)
    ((address, _, port),) = asked
    assert (address, port) == ("127.0.0.1", here.port)


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can be another user"
)
async def test_the_kernel_tells_whose_program_it_is(server: HttpServer) -> None:
    head = request_head("POST", {**server.head(), "Content-Length": str(len(OPENING))})
    speak = (
        "import socket, sys; there = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "there.sendall(sys.stdin.buffer.read())\n"
        "try: print(there.recv(100)[:12])\n"
        "except ConnectionResetError: print(b'')"
    )
    said = []
    for user in (0, 65_534):
        process = await asyncio.create_subprocess_exec(
            "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable,
            *("-I", "-S", "-c", speak, str(server.port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            user=user,
            cwd="/",
        )
        out, _ = await process.communicate(head + OPENING)
        said.append(out.decode().strip())
    assert said == ["b'HTTP/1.1 200'", "b''"]


async def test_more_connections_or_sessions_than_allowed_are_refused(place: Workplace) -> None:
    async with http_in_process(place, Limits(connections=2, strangers=1)) as here:
        with crowd(here) as people:
            await people.known()
            await people.known()
            assert (await here.post(OPENING)).status == 503
    async with http_in_process(place, Limits(sessions=1)) as here:
        assert [(await here.post(OPENING)).status for _ in range(2)] == [200, 503]


# Starting and ending


@pytest.fixture
def alone(place: Workplace, tmp_path: Path) -> McpHost:
    """A host whose data directory is its own."""
    return McpHost(place.project, {**place.env, "XDG_DATA_HOME": str(tmp_path)}, tmp_path / "err")


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, bytes, str]:
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    return process.returncode, out, err.decode()


async def test_a_port_that_is_taken_is_an_error_of_one_line(alone: McpHost) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = await ended(await alone.start("--http", "--port", str(port)))
    assert (code, out) == (2, b"")
    assert err == f"Error: {PortUnavailable(port, os.strerror(98))}\n".replace(
        os.strerror(98), f"[Errno 98] {os.strerror(98)}"
    )


@pytest.mark.parametrize("fault", ["mode", "link", "short"])
async def test_a_token_file_that_proves_nothing_is_refused(
    alone: McpHost, tmp_path: Path, fault: str
) -> None:
    secret, named = tmp_path / "secret", tmp_path / "token"
    secret.write_text("short" if fault == "short" else "a-token-that-is-long-enough")
    secret.chmod(0o644 if fault == "mode" else 0o600)
    named.symlink_to(secret) if fault == "link" else named.hardlink_to(secret)
    code, out, err = await ended(await alone.start("--http", "--token-file", str(named)))
    why = (
        service_messages.token_too_short(16)
        if fault == "short"
        else service_messages.NOT_A_PRIVATE_FILE
    )
    assert (code, out, err) == (2, b"", f"Error: {TokenFileUnusable(str(named), why)}\n")


async def test_a_signal_ends_the_server_and_what_goes_on_in_its_name(
    place: Workplace, alone: McpHost, tmp_path: Path
) -> None:
    token = tmp_path / "kept" / "token"
    async with alone.http("--token-file", str(token)) as serving:
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        async with serving.client() as client:
            call = asyncio.create_task(client.call_tool(tool_names.DELEGATE, tasks("signalled")))
            child = await place.child("signalled")
            assert serving.process is not None
            serving.process.send_signal(signal.SIGINT)
            code, out, err = await ended(serving.process)
            told = await call
            assert told.is_error
            assert told.structured_content is not None
            (entry,) = told.structured_content["results"]
            assert (entry["status"], entry["errorMessage"]) == ("error", STOPPED_ON_REQUEST)
    assert (code, out) == (0, b"")
    assert err == f"{cli_messages.serving_mcp(serving.url, str(token))}\n"
    await child.gone()
    result = place.run_dir(child).read_result()
    assert result is not None
    assert result.status == "aborted"
