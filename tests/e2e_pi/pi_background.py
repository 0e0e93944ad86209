"""Background agents inside pi: footer, notification, message, and what a reload leaves."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import MAIN, call, delegate
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
        await pi.shows("started it", "bg: 1 running / 1 total")
        child = await stage.driver.child("look around")
        await child.answer_and_exit("three rooms")
        shown = await pi.shows(
            "bg: 0 running / 1 total", "Background agent scout completed", "three rooms"
        )
        assert shown.count("three rooms") == 1
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
        await pi.shows("bg: 0 running / 1 total", "Background agent scout completed", "three rooms")


async def ended_in_a_turn(stage: Stage, pi: Watched) -> FakeProcess:
    """Have a background run end while pi is in a turn, and return what the turn waits for."""
    await pi.enter("please start one")
    child = await stage.driver.child("look around")
    busy = await stage.driver.child("the prompt of busy")
    await child.answer_and_exit("three rooms")
    await pi.shows("Background agent scout completed", "bg: 0 running / 1 total")
    return busy


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
            await pi.shows("bg: 0 running / 1 total", "three rooms")
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
        await pi.shows("bg: 0 running / 1 total", "three rooms")
        assert pi.core_pid() != first
