"""What sub-agents ask inside pi: a dialog for the person, closed by an answer from elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.e2e.command import subagents
from tests.fakes.main_pi import call
from tests.fakes.private_tmux import needs_tmux

from pi_subagents.faces.bridge import messages

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage

pytestmark = [pytest.mark.pi, needs_tmux]

ASKING = call("delegate_to_subagents", tasks=[{"name": "ask", "prompt": "ask", "questions": "ask"}])


async def test_a_question_is_a_dialog_and_goes_when_somebody_else_has_answered(
    stage: Stage,
) -> None:
    with stage.screen(ASKING, {"text": "all reported"}) as pi:
        await pi.enter("please start")
        child = await stage.driver.child("ask")
        first = asyncio.create_task(
            child.ask_dialog("select", "Which database?", options=["staging", "production"])
        )
        await pi.shows(
            messages.agent_asks_title("ask", "Which database?"), "→ staging", "  production"
        )
        pi.press("Down")
        await pi.shows("→ production")
        pi.press("Enter")
        heard = await first
        assert heard is not None
        assert heard["value"] == "production"

        second = asyncio.create_task(child.ask_dialog("input", "And why?"))
        await pi.shows(messages.agent_asks_title("ask", "And why?"))
        ran = await asyncio.to_thread(
            subagents, stage.project, "answer", child.run_id, "because it is Friday"
        )
        assert ran.out == "Answered: ask goes on.\n"
        heard = await second
        assert heard is not None
        assert heard["value"] == "because it is Friday"
        await pi.shows_no(messages.agent_asks_title("ask", "And why?"))
        await child.answer_and_exit("Done.")
        await pi.shows("all reported", "→ Answered: production")
