"""Messages for sub-agents at work, as a person inside pi sees them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import call, delegate
from tests.fakes.private_tmux import needs_tmux

from pi_subagents import steer
from pi_subagents.errors import SteerTargetNotFound

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage

pytestmark = [pytest.mark.pi, needs_tmux]


async def test_a_message_is_a_line_of_the_sub_agents_window(stage: Stage) -> None:
    with stage.screen(delegate("busy"), {"text": "all reported"}) as pi:
        await pi.enter("please delegate")
        busy = await stage.driver.child("the prompt of busy")
        await busy.tool("bash", {"command": "ls"})
        sent = asyncio.create_task(
            steer(busy.run_id, "Use the other file.", cwd=stage.project.path, env=pi.host.env)
        )
        while not (await busy.do("queue"))["queue"]:
            await asyncio.sleep(0)
        await busy.take_steer()
        assert (await sent).status == "delivered"
        await pi.shows("→ bash → ls", "→ steered: Use the other file.")
        await busy.answer_and_exit("I used it.")
        shown = await pi.shows("all reported", "I used it.")
    assert shown.count("Use the other file.") == 1


async def test_the_main_agent_is_told_what_became_of_its_message(stage: Stage) -> None:
    turn = call("steer_subagent", sessionId="nobody", message="Use the other file.")
    with stage.screen(turn, {"text": "nobody there"}) as pi:
        await pi.enter("please steer")
        await pi.shows("steer_subagent nobody Use the other file.", "nobody there")
        assert pi.host.tool_results() == [str(SteerTargetNotFound("nobody"))]
