"""pi or the core is killed while sub-agents work: nothing of them is left, what was done is kept."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from tests.e2e_pi.conftest import Watched
from tests.fakes.main_pi import call, delegate
from tests.fakes.pi_screen import pi_screen
from tests.fakes.private_tmux import needs_tmux, watched

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage
    from tests.fakes.driver import FakeProcess

pytestmark = [pytest.mark.pi, needs_tmux]

LIMIT_S = 7.0


async def two_at_work(stage: Stage, pi: Watched) -> list[FakeProcess]:
    """Have one of three sub-agents finish, and return the others: one does not want to stop."""
    await pi.enter("please delegate")
    done, *others = [
        await stage.driver.child(f"the prompt of {name}") for name in ("done", "stubborn", "busy")
    ]
    await others[0].do("ignore_term")
    await done.answer_and_exit("the finished work")
    await pi.shows("1 done")
    return others


async def all_gone(children: list[FakeProcess]) -> None:
    async with asyncio.timeout(LIMIT_S):
        for child in children:
            await child.gone()


@pytest.mark.parametrize("victim", ["pi", "core"])
async def test_after_kill_9_no_sub_agent_is_left(stage: Stage, victim: str) -> None:
    with stage.screen(delegate("done", "stubborn", "busy"), {"text": "so it goes"}) as pi:
        children = await two_at_work(stage, pi)
        core = pi.core_pid()
        with watched(core):
            os.kill(pi.pi_pid() if victim == "pi" else core, signal.SIGKILL)
        await all_gone(children)


async def test_a_core_that_dies_is_started_again_and_the_call_says_what_happened(
    stage: Stage,
) -> None:
    turns = (delegate("done"), {"text": "so it goes"}, delegate("again"), {"text": "this time"})
    with stage.screen(*turns) as pi:
        await pi.enter("please delegate")
        child = await stage.driver.child("the prompt of done")
        first = pi.core_pid()
        os.kill(first, signal.SIGKILL)
        await child.gone()
        await pi.shows("The core of pi-subagents ended unexpectedly (SIGKILL)", "so it goes")
        await pi.shows("It has been started again.")
        assert "what had finished is kept" in pi.host.tool_results()[0]
        await pi.enter("please try again")
        await (await stage.driver.child("the prompt of again")).answer_and_exit("worked")
        await pi.shows("this time", "Sub-agents: 1 done")
        assert pi.core_pid() != first


async def test_a_second_death_is_told_by_every_call_until_a_reload(stage: Stage) -> None:
    look = call("list_subagent_profiles")
    with stage.screen(look, {"text": "a pity"}, look, {"text": "better"}) as pi:
        for _ in range(2):
            core = pi.core_pid()
            with watched(core):
                os.kill(core, signal.SIGKILL)
            await pi.shows("The core of pi-subagents ended unexpectedly")
        await pi.shows("`/reload` starts it again.")
        await pi.enter("please look")
        await pi.shows("a pity", "`/reload` starts it again.")
        await pi.enter("/reload")
        await pi.shows("Reloaded")
        await pi.enter("please look again")
        await pi.shows("better", "profile: keyed")


async def test_a_footer_that_nobody_keeps_true_is_cleared(stage: Stage) -> None:
    stage.write_preset("scout")
    start = call("background_agent", preset="scout", task="look around")
    with stage.screen(start, {"text": "started it"}) as pi:
        await pi.enter("please start one")
        child = await stage.driver.child("look around")
        for heard in ("It has been started again.", "`/reload` starts it again."):
            await pi.shows("started it", "bg: 1 running / 1 total")
            os.kill(pi.core_pid(), signal.SIGKILL)
            await pi.shows(heard)
        await pi.shows_no("bg: 1 running / 1 total")
        await child.answer_and_exit("three rooms")


async def test_a_core_that_cannot_be_started_is_told_at_once(stage: Stage) -> None:
    with stage.pi({"text": "unused"}) as host:
        host.env["PI_SUBAGENTS_CORE"] = "no-such-core"
        with pi_screen(host) as screen:
            await Watched(host, screen).shows("The core of pi-subagents could not be started")


async def test_what_had_finished_is_retrievable_after_a_restart(stage: Stage) -> None:
    with stage.screen(delegate("done", "busy"), {"text": "unused"}) as pi:
        await pi.enter("please delegate")
        busy = await stage.driver.child("the prompt of busy")
        done = await stage.driver.child("the prompt of done")
        await done.answer_and_exit("the finished work")
        await pi.shows("1 done")
        os.kill(pi.pi_pid(), signal.SIGKILL)
        await busy.gone()
    entries = "".join(
        path.read_text() for path in stage.project.agent_dir.rglob("sessions/**/*.jsonl")
    )
    (session_id,) = set(re.findall(r'"sessionId":\s*"([0-9a-f]{16})"', entries))
    look = call("get_subagent_output", sessionId=session_id)
    with stage.pi(look, {"text": "seen"}) as host:
        host.ran("--continue", "-p", "please look")
        assert host.tool_results()[-1] == "the finished work"
