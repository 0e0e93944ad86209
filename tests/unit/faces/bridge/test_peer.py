"""Whatever comes over the wire, every request gets one answer and the connection goes on."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly
from tests.unit.core.test_json_rpc import messages as some_messages

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.json_rpc import Failure, Request, decode
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.peer import HostPeer, Peer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pi_subagents.core.framing import Frame

PATIENCE_S = 10.0


class Written:
    """An outlet that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    async def drain(self) -> None:
        pass

    @property
    def said(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


class Methods:
    """Answers, fails, asks back, or waits, by the name of the method."""

    def __init__(self, host: HostPeer) -> None:
        self.host = host
        self.order: list[str] = []
        self.go_on = asyncio.Event()

    async def answer(self, method: str, params: dict[str, object]) -> object | Failure:
        self.order.append(method)
        match method:
            case "fail":
                raise ValueError("two\nlines")
            case "refuse":
                return Failure(-32000, "no")
            case "ask":
                return await self.host.request("dialog", params)
            case "wait":
                await self.go_on.wait()
        return params

    async def take(self, method: str, params: dict[str, object]) -> None:
        del params
        self.order.append(method)
        if method == "fail":
            raise ValueError(method)


class End:
    """A peer with everything around it."""

    def __init__(self) -> None:
        self.written = Written()
        self.host = HostPeer(self.written)
        self.methods = Methods(self.host)
        self.peer = Peer(self.host, self.written, self.methods)

    async def take(self, data: bytes) -> None:
        """Serve these bytes, and return when everything is answered."""
        await self.peer.serve(framed(data))
        async with asyncio.timeout(PATIENCE_S):
            await self.peer.settled()


async def framed(data: bytes) -> AsyncIterator[Frame]:
    framer = LineFramer()
    for frame in (*framer.feed(data), *framer.end()):
        yield frame


def line(**content: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **content}).encode() + b"\n"


async def test_requests_are_answered_by_their_ids_side_by_side() -> None:
    end = End()
    serving = asyncio.create_task(
        end.take(line(id=1, method="wait") + line(id=2, method="echo", params={"a": 1}))
    )
    async with asyncio.timeout(PATIENCE_S):
        while not end.written.lines:
            await asyncio.sleep(0)
        end.methods.go_on.set()
        await serving
    assert end.written.said == [
        {"jsonrpc": "2.0", "id": 2, "result": {"a": 1}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ]


async def test_everything_is_begun_in_the_order_of_its_coming() -> None:
    end = End()
    await end.take(line(id=1, method="a") + line(method="b") + line(id=2, method="c"))
    assert end.methods.order == ["a", "b", "c"]


async def test_a_method_that_fails_is_answered_in_one_line_without_a_traceback() -> None:
    end = End()
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    await end.take(line(id=1, method="fail") + line(id=2, method="refuse") + line(method="fail"))
    failed = "internal error, please report it: ValueError: two lines"
    assert end.written.said == [
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": failed}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "no"}},
    ]
    assert [str(each["exception"]) for each in complaints] == ["fail"]


async def test_what_is_asked_is_answered_by_the_other_side() -> None:
    end = End()
    asked = asyncio.create_task(end.host.request("dialog", {"kind": "confirm"}))
    other = asyncio.create_task(end.host.request("dialog", {"kind": "input"}))
    await asyncio.sleep(0)
    assert end.written.said == [
        {"jsonrpc": "2.0", "id": "d1", "method": "dialog", "params": {"kind": "confirm"}},
        {"jsonrpc": "2.0", "id": "d2", "method": "dialog", "params": {"kind": "input"}},
    ]
    await end.take(
        line(id="d2", error={"code": 1, "message": "closed"})
        + line(id="d1", result={"value": True})
        + line(id="d1", result={"value": False})
        + line(id="d7", result=1)
    )
    assert await asked == {"value": True}
    assert await other == Failure(1, "closed")


async def test_a_host_that_goes_away_answers_nothing_any_more() -> None:
    end = End()
    asked = asyncio.create_task(end.host.request("dialog", {}))
    await asyncio.sleep(0)
    await end.take(b"")
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.wait([asked])
    assert asked.cancelled()
    assert await answered(end) == {"result": {}}, "the next one is served all the same"


async def answered(end: End) -> Any:
    end.written.lines.clear()
    await end.take(line(id=9, method="echo"))
    (said,) = end.written.said
    return {key: value for key, value in said.items() if key not in ("jsonrpc", "id")}


async def test_a_request_that_is_cut_short_is_answered_too() -> None:
    end = End()
    await end.peer.serve(framed(line(id=1, method="wait")))
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await end.peer.settled()
    (said,) = end.written.said
    assert said["error"] == {"code": -32000, "message": messages.RPC_ENDING}


async def test_a_line_without_an_end_was_never_said() -> None:
    end = End()
    await end.take(line(id=1, method="echo") + line(id=2, method="echo").rstrip(b"\n"))
    assert [said["id"] for said in end.written.said] == [1]


async def test_a_line_over_the_limit_is_answered() -> None:
    end = End()

    async def frames() -> AsyncIterator[Frame]:
        for frame in LineFramer(10).feed(b"x" * 11 + b"\n"):
            yield frame
        yield Line(b"  ")

    await end.peer.serve(frames())
    (said,) = end.written.said
    assert said["error"] == {
        "code": -32600, "message": messages.rpc_line_too_long(11, 64 * 1024 * 1024),
    }  # fmt: skip


requests = st.builds(
    lambda number, method: line(id=number, method=method, params={}),
    st.integers(0, 5) | st.text(max_size=3),
    st.sampled_from(["echo", "fail", "refuse", "x"]),
)
chunks = st.lists(
    requests
    | some_messages.map(lambda each: json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")
    | st.binary(max_size=20)
    | st.just(b"\n"),
    max_size=12,
).map(b"".join)


@thoroughly
@given(chunks)
def test_any_bytes_get_one_answer_for_each_request_and_never_end_the_peer(data: bytes) -> None:
    async def serve() -> tuple[list[Any], Any]:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        end = End()
        await end.take(data)
        return end.written.said, await answered(end)

    said, after = asyncio.run(serve())
    whole = [each for each in data.split(b"\n")[:-1] if each.strip()]
    decoded = [decode(each.removesuffix(b"\r")) for each in whole]
    asked = Counter(repr(each.id) for each in decoded if isinstance(each, Request))
    answers = Counter(repr(each["id"]) for each in said)
    unanswerable = len(said) - asked.total()
    assert asked <= answers
    assert 0 <= unanswerable <= len(whole)
    assert after == {"result": {}}
