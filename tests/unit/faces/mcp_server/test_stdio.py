"""Lines in, lines out: whatever a host writes, every request gets one answer, and nothing breaks."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

from pi_subagents.faces.mcp_server import messages, stdio
from pi_subagents.faces.mcp_server.calls import McpCalls
from pi_subagents.faces.mcp_server.server import build_server
from pi_subagents.faces.mcp_server.stdio import serve_stdio
from pi_subagents.faces.wire import Wire

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.service.call import Options

PATIENCE_S = 20
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
SMALL = 2_000  # bytes of a message, here


def answers(sent: bytes, expected: int, cwd: Path, *, end: bytes = b"") -> list[Any]:
    """Return what a server answers: so many messages, and those of its last words."""
    return asyncio.run(_answers(sent, expected, cwd, end))


async def _answers(sent: bytes, expected: int, cwd: Path, end: bytes) -> list[Any]:
    options: Options = {"cwd": cwd, "env": {"HOME": str(cwd), "PATH": os.defpath}}
    server = build_server(McpCalls(options, None), options)
    in_reading, in_writing = os.pipe()
    out_reading, out_writing = os.pipe()
    serving = asyncio.create_task(
        serve_stdio(server, Wire(in_reading, out_writing), max_message=SMALL)
    )
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.to_thread(_write, in_writing, sent)
        found = [
            json.loads(line) for line in await asyncio.to_thread(_lines, out_reading, expected)
        ]
        await asyncio.to_thread(_write, in_writing, end)
        os.close(in_writing)
        await serving
    os.close(out_writing)
    with os.fdopen(out_reading, "rb") as rest:
        found += [json.loads(line) for line in rest]
    os.close(in_reading)
    return found


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _lines(descriptor: int, count: int) -> list[bytes]:
    """Return so many lines, byte by byte: the next ones are somebody else's to read."""
    lines = []
    for _ in range(count):
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(descriptor, 1)
            assert byte, "the server left"
            line += byte
        lines.append(line)
    return lines


JSON: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", [], {}, [[]], {"x": None}]
)
METHODS = st.sampled_from(
    [
        "ping",
        "tools/list",
        "tools/call",
        "prompts/get",
        "resources/read",
        "nothing",
        "initialize",
        "",
    ]
)
PARAMS: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.builds(
    lambda params: {"params": params},
    st.dictionaries(st.sampled_from(["name", "arguments", "uri", "cursor", "x"]), JSON, max_size=3),
)
BAD_IDS: st.SearchStrategy[Any] = st.sampled_from([None, True, False, 1.5, [], {}, [1]])
NO_LINE_ENDS = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b""))


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, list[tuple[Any, int | None]]]:
    """Return a line, and the answers to it: the id, and the code of the error if it is known."""
    drawn = draw(st.integers(0, 2**100))
    number_or_text: int | str = f"text {drawn}" if draw(st.booleans()) else drawn
    message = {"jsonrpc": "2.0", "id": number_or_text, "method": draw(METHODS), **draw(PARAMS)}
    kind = draw(st.sampled_from(["good", "bad id", "bad version", "no method", "bad params"]))
    expected: tuple[Any, int | None] = (number_or_text, None if kind == "good" else INVALID_REQUEST)
    match kind:
        case "bad id":
            message["id"] = draw(BAD_IDS)
            expected = (None, INVALID_REQUEST)
        case "bad version":
            message["jsonrpc"] = draw(st.sampled_from(["1.0", 2, None]))
        case "no method":
            del message["method"]
        case "bad params":
            message["params"] = draw(st.lists(JSON, min_size=1, max_size=3))
    return json.dumps(message).encode(), [expected]


@st.composite
def others(draw: st.DrawFn) -> tuple[bytes, list[tuple[Any, int | None]]]:
    """Return a line that is no request, and the answers to it."""
    kind = draw(st.sampled_from(["bytes", "blank", "notification", "response", "long"]))
    match kind:
        case "bytes":
            data = b"{" + draw(NO_LINE_ENDS)
            return data, [(None, PARSE_ERROR)] if not _is_json(data) else [(None, INVALID_REQUEST)]
        case "blank":
            return draw(st.sampled_from([b"", b" ", b"\t ", b"\r"])), []
        case "notification":
            return json.dumps({"jsonrpc": "2.0", "method": "notifications/x"}).encode(), []
        case "response":
            return json.dumps({"jsonrpc": "2.0", "id": 3, "result": {}}).encode(), []
    return b"x" * (SMALL + 1), [(None, PARSE_ERROR)]


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


@briefly
# An id that stands twice has two answers, and nobody could tell which is whose.
@given(
    st.lists(
        requests() | others(),
        max_size=6,
        unique_by=lambda each: str([number for number, _ in each[1]] or each[0]),
    )
)
def test_every_request_is_answered_once_and_what_is_none_by_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[bytes, list[tuple[Any, int | None]]]],
) -> None:
    sent = b"".join(line + b"\n" for line, _ in lines if len(line) <= SMALL or line[:1] == b"x")
    expected = [
        each for line, found in lines for each in found if len(line) <= SMALL or line[:1] == b"x"
    ]
    heard = answers(sent, len(expected), tmp_path_factory.getbasetemp())
    assert all(
        each["jsonrpc"] == "2.0" and ("error" in each) != ("result" in each) for each in heard
    )
    assert sorted(str(each["id"]) for each in heard) == sorted(
        str(number) for number, _ in expected
    )
    codes = {
        str(number): code for number, code in expected if code is not None and number is not None
    }
    found = {str(each["id"]): each["error"]["code"] for each in heard if str(each["id"]) in codes}
    assert found == codes


@briefly
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    ping = b'\n{"jsonrpc": "2.0", "id": "still here", "method": "ping"}\n'
    heard = answers(b"", 0, tmp_path_factory.getbasetemp(), end=data + ping)
    assert {each["id"] for each in heard} <= {None, "still here"}


@pytest.mark.parametrize(
    ("line", "number", "code", "words"),
    [
        (b"nonsense", None, PARSE_ERROR, messages.NOT_JSON_RPC),
        (b"[" * 1_500, None, PARSE_ERROR, messages.NOT_JSON_RPC),
        (b"\xff\xfe", None, PARSE_ERROR, messages.NOT_JSON_RPC),
        (b"[]", None, INVALID_REQUEST, messages.NOT_JSON_RPC),
        (b'{"id": 5}', 5, INVALID_REQUEST, messages.NOT_JSON_RPC),
        (b'{"id": "\\ud800", "jsonrpc": "2.0", "method": "ping"}', "\ud800", INVALID_REQUEST,
         messages.NOT_JSON_RPC),
        (b'{"id": null, "jsonrpc": "2.0", "method": "ping"}', None, INVALID_REQUEST,
         messages.NOT_JSON_RPC),
        (b'{"id": true, "jsonrpc": "2.0", "method": "ping"}', None, INVALID_REQUEST,
         messages.NOT_JSON_RPC),
        (b"x" * (SMALL + 1), None, PARSE_ERROR, messages.message_too_long(SMALL + 1, SMALL)),
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered(
    tmp_path: Path, line: bytes, number: object, code: int, words: str
) -> None:
    error = {"code": code, "message": words}
    assert answers(line + b"\n", 1, tmp_path) == [{"jsonrpc": "2.0", "id": number, "error": error}]


def test_half_a_character_in_an_argument_costs_nothing_but_itself(tmp_path: Path) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": ["cut \\ud83d"]}}\n'
    assert answers(line, 1, tmp_path) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    for wrong in (line.replace(b"2.0", b"1.0"), line.replace(b"1,", b"true,"), b'["\\ud83d"]\n'):
        (refused,) = answers(wrong, 1, tmp_path)
        assert refused["error"]["code"] == INVALID_REQUEST


def test_half_a_message_at_the_end_is_answered_too(tmp_path: Path) -> None:
    (heard,) = answers(b"", 0, tmp_path, end=b'{"jsonrpc": "2.0", "id": 1, "meth')
    assert heard["error"]["code"] == PARSE_ERROR


async def test_an_answer_under_way_is_written_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, read_again, over = asyncio.Event(), asyncio.Event(), asyncio.Event()
    written: list[bytes] = []

    class SlowHost:
        """Takes nothing until it is told to."""

        def __init__(self, _descriptor: int) -> None: ...

        async def write(self, line: bytes) -> None:
            asked.set()
            await read_again.wait()
            written.append(line)

    monkeypatch.setattr(stdio, "LineWriter", SlowHost)
    options: Options = {"cwd": tmp_path, "env": {"HOME": str(tmp_path)}}
    server = build_server(McpCalls(options, None), options)
    run = server.run

    async def run_and_say_so(*given_streams: Any) -> None:
        await run(*given_streams)
        over.set()

    monkeypatch.setattr(server, "run", run_and_say_so)
    reading, writing = os.pipe()
    serving = asyncio.create_task(stdio.serve_stdio(server, Wire(reading, -1)))
    os.write(writing, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    async with asyncio.timeout(PATIENCE_S):
        await asked.wait()
        os.close(writing)
        await over.wait()
        read_again.set()
        await serving
    assert [json.loads(line) for line in written] == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    os.close(reading)
