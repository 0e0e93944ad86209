"""A greeting comes first, also where the host does not wait for its answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from pi_subagents.core.json_rpc import INVALID_PARAMS, REFUSED, Failure
from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.params import PROTOCOL
from pi_subagents.faces.bridge.server import Bridge

if TYPE_CHECKING:
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.faces.bridge.params import HostSession, HostToolCall
    from pi_subagents.faces.bridge.peer import HostPeer

PATIENCE_S = 10.0
EARLY_CALL: dict[str, object] = {"tool": "t", "cwd": "/"}
GREETING = {"protocol": PROTOCOL, "sessionId": "s", "reason": "startup", "cwd": "/", "entries": []}


class FakeSession:
    def background(self) -> str:
        return "the counts"

    async def offer(self) -> dict[str, object]:
        return {"tools": "the tools"}


class SlowBridge(Bridge):
    """Opens a session when it may, and remembers what was done in which order."""

    def __init__(self) -> None:
        super().__init__(cast("HostPeer", None), {})
        self.may_open = asyncio.Event()
        self.done: list[str] = []
        self._calls = cast("Any", self)

    async def _opened(self, opened: HostSession) -> OpenSession:
        await self.may_open.wait()
        self.done.append(f"opened {opened.session_id}")
        return cast("OpenSession", FakeSession())

    async def _complete(self, prefix: str) -> dict[str, object]:
        self.done.append(f"completed {prefix}")
        return {}

    def prewarm(self, call: HostToolCall, _session: object) -> None:
        self.done.append(f"started for {call.tool}")

    def cancel(self, call_id: str) -> None:
        self.done.append(f"cancelled {call_id}")


@pytest.fixture
async def bridge() -> SlowBridge:
    return SlowBridge()


async def test_what_comes_behind_a_greeting_waits_for_it_in_its_order(bridge: SlowBridge) -> None:
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as together:
        greeted = together.create_task(bridge.answer("hello", GREETING))
        together.create_task(bridge.answer("complete", {"prefix": "x"}))
        together.create_task(bridge.take("prewarm", EARLY_CALL))
        together.create_task(bridge.take("cancel", {"callId": "c"}))
        for _ in range(10):
            await asyncio.sleep(0)
        assert bridge.done == []
        bridge.may_open.set()
    assert bridge.done == ["opened s", "completed x", "started for t", "cancelled c"]
    answer = greeted.result()
    assert isinstance(answer, dict)
    assert (answer["protocol"], answer["background"]) == (PROTOCOL, "the counts")


@pytest.mark.parametrize("spoken", [None, True, "2", PROTOCOL - 1, PROTOCOL + 1])
async def test_behind_a_refused_greeting_everything_is_refused_but_the_end(
    bridge: SlowBridge, spoken: object
) -> None:
    refusal = Failure(REFUSED, messages.bridge_protocol_unknown(spoken, PROTOCOL))
    assert await bridge.answer("hello", {**GREETING, "protocol": spoken}) == refusal
    assert await bridge.answer("complete", {"prefix": "x"}) == refusal
    await bridge.take("prewarm", EARLY_CALL)
    assert await bridge.answer("bye", {"reason": "quit"}) == {}
    assert bridge.done == []
    bridge.may_open.set()
    await bridge.answer("hello", GREETING)
    assert await bridge.answer("complete", {"prefix": "x"}) == {}


async def test_nothing_is_prewarmed_by_nonsense_or_when_the_host_takes_its_leave(
    bridge: SlowBridge,
) -> None:
    await bridge.take("prewarm", {"tool": "t"})
    await bridge.answer("bye", {"reason": "quit"})
    await bridge.take("prewarm", EARLY_CALL)
    assert bridge.done == []


async def test_a_greeting_without_a_session_is_refused(bridge: SlowBridge) -> None:
    wrong = await bridge.answer("hello", {"protocol": PROTOCOL, "cwd": "/"})
    assert wrong == Failure(INVALID_PARAMS, "reason: is required and must be a string")
