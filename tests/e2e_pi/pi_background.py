"""Background agents inside pi: footer, notification, message, and what a reload leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import MAIN, call
from tests.fakes.private_tmux import needs_tmux, watched

if TYPE_CHECKING:
    from tests.e2e_pi.conftest import Stage

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
