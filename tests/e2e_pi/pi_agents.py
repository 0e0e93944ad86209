"""`/agents` inside pi: who is at work, what each does, and what can be done about it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.main_pi import call, delegate, rpc
from tests.fakes.private_tmux import needs_tmux

from pi_subagents.faces.bridge import messages

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage, Watched

pytestmark = [pytest.mark.pi, needs_tmux]


async def chosen(pi: Watched, agent: str, action: str) -> None:
    """Open the list, choose who and what; the cursor begins at the first of each."""
    await pi.enter("/agents")
    await go_to(pi, agent, messages.AGENTS_TITLE)
    await go_to(pi, action, messages.AGENT_ACTIONS[-1])


async def go_to(pi: Watched, row: str, below: str) -> None:
    await pi.shows(below)
    while f"→ {row}" not in (before := pi.screen.shown()):
        pi.press("Down")
        await asyncio.to_thread(pi.screen.wait_until, partial(has_moved, before), "a move")
    pi.press("Enter")


def has_moved(before: str, now: str) -> bool:
    """Tell a cursor that has moved from a clock that runs: the next key has to wait for it."""
    old, new = ([line for line in text.splitlines() if "→ " in line] for text in (before, now))
    return old != new


async def test_agents_at_work_are_listed_read_steered_and_stopped(stage: Stage) -> None:
    stage.write_preset("scout")
    turns = (
        call("background_agent", preset="scout", task="look around"),
        delegate("busy", "idle"),
        {"text": "all reported"},
    )
    with stage.screen(*turns) as pi:
        await pi.enter("please start")
        scout = await stage.driver.child("look around")
        busy = await stage.driver.child("the prompt of busy")
        idle = await stage.driver.child("the prompt of idle")
        await busy.say("Two files here.", stop_reason="toolUse")
        await pi.shows("Two files here.")
        await pi.enter("/agents")
        await pi.shows(
            f"→ ● scout: look around · {scout.run_id[:8]} · running · ",
            f"  ● busy · {busy.run_id[:8]} · running · ",
            "s · Two files here.",
            f"  ● idle · {idle.run_id[:8]} · running · ",
        )
        pi.press("Escape")
        await pi.shows_no(messages.AGENTS_TITLE)

        await chosen(pi, "● busy", "Read")
        await pi.shows("Task: the prompt of busy\n\n Two files here.")

        await chosen(pi, "● busy", "Steer")
        await pi.shows(messages.agent_steer_title("busy"))
        await pi.enter("Use the other file.")
        while not (await busy.do("queue"))["queue"]:
            await asyncio.sleep(0)
        await busy.take_steer()
        await pi.shows("→ steered: Use the other file.", "Delivered: busy has read the message.")

        await chosen(pi, "● idle", "Stop")
        await pi.shows(messages.agent_stop_title("idle", idle.run_id[:8]), "→ Stop", "  Cancel")
        pi.press("Enter")
        await pi.shows("idle: stopped")

        await chosen(pi, "● scout", "Stop")
        await pi.shows("  Cancel")
        pi.press("Enter")
        await pi.shows(f"Background agent scout stopped (run {scout.run_id[:8]})")
        await busy.answer_and_exit("I used it.")
        await pi.shows("all reported", "I used it.")
        await pi.enter("/agents")
        await pi.shows(messages.NO_AGENTS)


async def test_a_list_that_nobody_can_choose_from_is_a_text(stage: Stage) -> None:
    with stage.pi({"text": "unused"}) as pi:
        done = await asyncio.to_thread(pi.ran, "-p", "/agents")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{messages.NO_AGENTS}\n")


async def test_a_client_of_rpc_is_asked_and_told_like_a_person(stage: Stage) -> None:
    with stage.pi(delegate("busy"), {"text": "all reported"}) as host, rpc(host) as pi:
        pi.send(type="prompt", message="please start")
        busy = await stage.driver.child("the prompt of busy")
        pi.send(type="prompt", message="/agents", streamingBehavior="steer")
        listed: dict[str, Any] = await asyncio.to_thread(pi.wait_for, method="select")
        assert (listed["title"], len(listed["options"])) == (messages.AGENTS_TITLE, 1)
        pi.send(type="extension_ui_response", id=listed["id"], value=listed["options"][0])
        asked = await asyncio.to_thread(pi.wait_for, method="select")
        assert (asked["title"], asked["options"]) == (
            listed["options"][0], list(messages.AGENT_ACTIONS),
        )  # fmt: skip
        pi.send(type="extension_ui_response", id=asked["id"], value="Read")
        told = await asyncio.to_thread(pi.wait_for, method="notify")
        assert told["message"].endswith(
            f"Task: the prompt of busy\n\n{messages.AGENT_SAID_NOTHING}"
        )
        await busy.answer_and_exit("done")
        await asyncio.to_thread(pi.wait_for, type="agent_settled")
