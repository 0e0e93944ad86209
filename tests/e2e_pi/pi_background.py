"""Background agents inside pi: footer, notification, message, and what a reload leaves."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import MAIN, call, delegate, rpc
from tests.fakes.private_tmux import needs_tmux, watched

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage, Watched
    from tests.fakes.driver import FakeProcess

pytestmark = [pytest.mark.pi, needs_tmux]


def start(task: str) -> dict[str, object]:
    return call("background_agent", preset="scout", task=task)


async def test_a_background_run_is_in_the_footer_and_its_end_is_told_once_without_a_turn(
    stage: Stage,
) -> None:
    stage.write_preset("scout")
    turns = (
        start("look around"),
        {"text": "started it"},
        call("background_agent_status"),
        {"text": "over"},
    )
    with stage.screen(*turns) as pi:
        await pi.enter("please start one")
        await pi.shows("started it", "bg: 1 running / 1 total · scout: look around")
        child = await stage.driver.child("look around")
        await child.answer_and_exit("three rooms")
        await pi.shows_no("bg: 1 running")
        shown = await pi.shows("completed in the background", "three rooms")
        told = (shown.count("completed"), shown.count("three rooms"), "bg:" in shown)
        assert told == (1, 1, False)
        assert f"run {child.run_id[:8]}" in shown
        await pi.enter("please ask")
        await pi.shows("over")
        asked = pi.host.model.requests(MAIN)[2]["messages"][-1]
    # The message about the end waited for the next prompt.
    assert (asked["role"], "please ask" in str(asked["content"])) == ("user", True)


async def test_a_background_run_outlives_pi_and_is_watched_again(stage: Stage) -> None:
    stage.write_preset("scout")
    with stage.screen(start("look around"), {"text": "started it"}) as pi:
        await pi.enter("please start one")
        await pi.shows("started it", "bg: 1 running / 1 total")
        child = await stage.driver.child("look around")
        pi.press("C-d")
        await pi.shows("To resume this session")
    await child.echo()
    with stage.screen({"text": "unused"}, arguments=("--continue",)) as pi:
        await pi.shows("bg: 1 running / 1 total")
        await child.answer_and_exit("three rooms")
        await pi.shows("completed in the background", "three rooms")
        await pi.shows_no("bg: ")


async def ended_in_a_turn(stage: Stage, pi: Watched) -> FakeProcess:
    """Have a background run end while pi is in a turn, and return what the turn waits for."""
    await pi.enter("please start one")
    child = await stage.driver.child("look around")
    busy = await stage.driver.child("the prompt of busy")
    await child.answer_and_exit("three rooms")
    await pi.shows(f"Background agent scout completed (run {child.run_id[:8]})")
    await pi.shows_no("bg: ")
    return busy


async def test_an_end_in_a_turn_is_told_at_once_and_shown_behind_it(stage: Stage) -> None:
    stage.write_preset("scout")
    with stage.screen(start("look around"), delegate("busy"), {"text": "so it goes"}) as pi:
        busy = await ended_in_a_turn(stage, pi)
        await busy.answer_and_exit("done")
        shown = await pi.shows("so it goes", "completed in the background", "three rooms")
        assert (shown.count("scout completed"), shown.count("three rooms")) == (1, 1)


async def test_a_client_of_rpc_gets_a_notification_and_a_message_of_an_end(stage: Stage) -> None:
    stage.write_preset("scout")
    with stage.pi(start("look around"), {"text": "started it"}) as host, rpc(host) as pi:
        pi.send(type="prompt", message="please start one")
        child = await stage.driver.child("look around")
        await asyncio.to_thread(pi.wait_for, type="agent_settled")
        await child.answer_and_exit("three rooms")
        told = await asyncio.to_thread(pi.wait_for, method="notify")
        ended = f"Background agent scout completed (run {child.run_id[:8]})"
        assert (told["notifyType"], told["message"]) == ("info", ended)
        message = (await asyncio.to_thread(pi.wait_for, type="message_end"))["message"]
        assert (message["customType"], message["content"].splitlines()[0]) == (
            "pi-subagents:bg-end", ended,
        )  # fmt: skip


async def test_an_answer_that_pi_had_in_memory_when_it_ended_is_shown_when_it_is_back(
    stage: Stage,
) -> None:
    stage.write_preset("scout")
    with stage.screen(start("look around"), delegate("busy"), {"text": "unused"}) as pi:
        busy = await ended_in_a_turn(stage, pi)
        os.kill(pi.pi_pid(), signal.SIGKILL)
        await busy.gone()
    for _ in range(2):
        with stage.screen({"text": "hello"}, arguments=("--continue",)) as pi:
            await pi.shows("completed in the background", "three rooms")
            await pi.enter("are you there")
            shown = await pi.shows("hello")
            assert shown.count("three rooms") == 1
            pi.press("C-d")
            await pi.shows("To resume this session")


async def test_a_core_that_dies_in_a_turn_leaves_one_message_of_an_end(stage: Stage) -> None:
    stage.write_preset("scout")
    first = (start("look around"), delegate("busy"), {"text": "so it goes"})
    with stage.screen(*first, call("list_subagent_profiles"), {"text": "better"}) as pi:
        busy = await ended_in_a_turn(stage, pi)
        os.kill(pi.core_pid(), signal.SIGKILL)
        await busy.gone()
        await pi.shows("so it goes", "three rooms")
        # Whatever the other core has to say is said before its answer.
        await pi.enter("please look")
        await pi.shows("better")
    (log,) = stage.project.agent_dir.rglob("sessions/**/*.jsonl")
    assert log.read_text().count('"pi-subagents:bg-end"') == 1


async def test_reload_starts_another_core_which_watches_on(stage: Stage) -> None:
    stage.write_preset("scout")
    with stage.screen(start("look around"), {"text": "started it"}) as pi:
        await pi.enter("please start one")
        await pi.shows("started it", "bg: 1 running / 1 total")
        child = await stage.driver.child("look around")
        first = pi.core_pid()
        with watched(first):
            await pi.enter("/reload")
        await pi.shows("bg: 1 running / 1 total")
        await child.answer_and_exit("three rooms")
        await pi.shows("completed in the background", "three rooms")
        await pi.shows_no("bg: ")
        assert pi.core_pid() != first


def prompts_of(pi: Watched) -> int:
    return len(pi.host.model.requests(MAIN))


async def test_the_end_of_a_batch_begins_one_turn_of_the_main_agent(stage: Stage) -> None:
    stage.settings["wake_parent"] = True
    stage.write_preset("scout")
    start_both = {"toolCalls": [*start("first")["toolCalls"], *start("second")["toolCalls"]]}  # type: ignore[misc]  # plain JSON
    turns = (start_both, {"text": "started both"}, {"text": "so both are done"}, {"text": "hello"})
    with stage.screen(*turns) as pi:
        await pi.enter("please start two")
        await pi.shows("started both")
        first, second = await stage.driver.child("first"), await stage.driver.child("second")
        await first.answer_and_exit("three rooms")
        await pi.shows("three rooms")
        await second.answer_and_exit("one cellar")
        await pi.shows("one cellar", "so both are done")
        asked = str(pi.host.model.requests(MAIN)[-1]["messages"])
        assert ("three rooms" in asked, "one cellar" in asked, prompts_of(pi)) == (True, True, 3)
        pi.press("C-d")
        await pi.shows("To resume this session")
    with stage.screen({"text": "hello"}, arguments=("--continue",)) as pi:
        await pi.enter("are you there")
        await pi.shows("hello")
        assert prompts_of(pi) == 1  # the batch has had its turn


async def test_a_batch_that_ends_while_pi_is_away_begins_its_turn_when_it_is_back(
    stage: Stage,
) -> None:
    stage.settings["wake_parent"] = True
    stage.write_preset("scout")
    with stage.screen(start("look around"), {"text": "started it"}) as pi:
        await pi.enter("please start one")
        await pi.shows("started it", "bg: 1 running / 1 total")
        child = await stage.driver.child("look around")
        pi.press("C-d")
        await pi.shows("To resume this session")
    await child.answer_and_exit("three rooms")
    for turn in ("I have read it", None):
        with stage.screen({"text": turn or "unused"}, arguments=("--continue",)) as pi:
            await pi.shows("three rooms", "I have read it")
            assert prompts_of(pi) == (1 if turn else 0)
            pi.press("C-d")
            await pi.shows("To resume this session")


async def test_the_end_of_a_batch_in_a_turn_begins_another_one_behind_it(stage: Stage) -> None:
    stage.settings["wake_parent"] = True
    stage.write_preset("scout")
    turns = (start("look around"), delegate("busy"), {"text": "so it goes"}, {"text": "I know"})
    with stage.screen(*turns) as pi:
        busy = await ended_in_a_turn(stage, pi)
        await busy.answer_and_exit("done")
        shown = await pi.shows("so it goes", "three rooms", "I know")
        assert shown.index("so it goes") < shown.index("I know")
        assert prompts_of(pi) == 4
