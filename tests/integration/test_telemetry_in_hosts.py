"""Hosts that stay: their calls are traces too, which go on with that of whoever called."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.fakes.bridge_host import open_bridge
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import McpHost, tasks
from tests.fakes.otlp_receiver import open_receiver
from tests.integration.test_mcp_stdio import Wire, request

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{CALLER}-01"
SPANS = {("invoke_workflow pi_subagents", TRACE), ("invoke_agent pi", TRACE)}


async def test_a_call_over_mcp_goes_on_with_the_trace_of_its_request(
    place: Workplace, tmp_path: Path
) -> None:
    host = McpHost(place.project, place.env, tmp_path / "stderr")
    with open_receiver() as receiver:
        wire = Wire(await host.start(**receiver.env))
        await wire.initialized("2025-06-18")
        asked = {"name": "delegate_to_subagents", "arguments": tasks("look")}
        wire.send(request("tools/call", {**asked, "_meta": {"traceparent": PARENT}}))
        await (await place.child("look")).answer_and_exit("fine")
        assert not (await wire.next())["result"]["isError"]
        assert await wire.end() == (0, b"", b"")
        assert {(span.name, span.trace) for span in receiver.spans} == SPANS
        assert receiver.span("invoke_workflow pi_subagents").parent == CALLER


async def test_a_call_inside_pi_goes_on_with_the_trace_that_pi_was_started_in(
    place: Workplace,
) -> None:
    with open_receiver() as receiver:
        place.secrets |= {**receiver.env, "TRACEPARENT": PARENT}
        async with open_bridge(place.project, place.env) as bridge:
            await bridge.open()
            calling = asyncio.create_task(bridge.call("delegate_to_subagents", tasks("look")))
            await (await place.child("look")).answer_and_exit("fine")
            async with asyncio.timeout(PATIENCE_S):
                await calling
            assert await bridge.bye() == 0
        assert {(span.name, span.trace) for span in receiver.spans} == SPANS
