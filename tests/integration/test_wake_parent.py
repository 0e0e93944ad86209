"""With `wake_parent` the end of a batch of background runs begins one turn, whatever happens to pi."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.bridge_host import BridgeHost, open_bridge
from tests.fakes.preset_place import MODEL, PresetPlace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

Log = list[dict[str, Any]]


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset, who wants to be woken."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    settings(place.home / ".pi/agent", wake_parent=True)
    return made


@pytest.fixture
async def host(here: PresetPlace) -> AsyncIterator[BridgeHost]:
    async with open_bridge(here.work.project, here.work.env) as made:
        await made.open(endsShown=[])
        yield made


def settings(where: Any, **given: object) -> None:
    where.mkdir(exist_ok=True)
    (where / "settings.json").write_text(json.dumps({"subagents": given}))


async def begun(here: PresetPlace, host: BridgeHost, *names: str) -> list[tuple[str, FakeProcess]]:
    """Start background runs; return their ids and children."""
    runs = []
    for name in names:
        asked = {"preset": "scout", "task": name}
        answer = await host.call("background_agent", asked, models=[MODEL])
        runs.append((answer["details"]["runId"], await here.work.child(name)))
    return runs


def log_of(host: BridgeHost) -> Log:
    log: Log = json.loads(json.dumps(host.all_told("entry")))
    return log


def waking(host: BridgeHost) -> list[tuple[str, bool]]:
    """Return the ends that were told, in their order, and which of them begin a turn."""
    return [(m["details"]["runId"], m.get("wakes", False)) for m in host.all_told("message")]


async def told_of(host: BridgeHost, *run_ids: str) -> None:
    for run_id in run_ids:
        await host.heard("message", partial(_is_of, run_id))


def _is_of(run_id: str, message: dict[str, Any]) -> bool:
    return bool(message["details"]["runId"] == run_id)


async def test_the_last_end_of_a_batch_begins_a_turn_and_the_next_batch_another(
    here: PresetPlace, host: BridgeHost
) -> None:
    (a, first), (b, second) = await begun(here, host, "a", "b")
    await first.answer_and_exit("1")
    await told_of(host, a)
    ((c, third),) = await begun(here, host, "c")  # joins the batch
    await second.answer_and_exit("2")
    await told_of(host, b)
    await third.answer_and_exit("3")
    await told_of(host, c)
    ((d, fourth),) = await begun(here, host, "d")
    await fourth.exit(3)
    await told_of(host, d)
    assert await host.bye() == 0
    assert waking(host) == [(a, False), (b, False), (c, True), (d, True)]


async def test_runs_that_end_together_begin_one_turn(here: PresetPlace, host: BridgeHost) -> None:
    runs = await begun(here, host, "a", "b", "c")
    await asyncio.gather(*(child.answer_and_exit("done") for _, child in runs))
    await told_of(host, *(run_id for run_id, _ in runs))
    assert await host.bye() == 0
    assert [wakes for _, wakes in waking(host)] == [False, False, True]


async def test_a_batch_that_ends_while_pi_is_away_begins_its_turn_when_it_is_back(
    here: PresetPlace, host: BridgeHost
) -> None:
    (a, first), (b, second) = await begun(here, host, "a", "b")
    await first.answer_and_exit("1")
    await told_of(host, a)
    log = log_of(host)
    assert await host.vanish() == 0
    await second.answer_and_exit("2")
    await here.ended(b)
    async with open_bridge(here.work.project, here.work.env) as back:
        await back.open(*log, reason="resume", endsShown=[a])
        await told_of(back, b)
        log = [*log, *log_of(back)]
        assert await back.bye() == 0
    assert (waking(host), waking(back)) == ([(a, False)], [(b, True)])
    async with open_bridge(here.work.project, here.work.env) as again:
        await again.open(*log, reason="resume", endsShown=[a, b])
        ((c, third),) = await begun(here, again, "c")
        await third.answer_and_exit("3")
        await told_of(again, c)
        assert await again.bye() == 0
    assert waking(again) == [(c, True)]


async def test_a_turn_that_never_began_since_pi_ended_first_begins_once(
    here: PresetPlace, host: BridgeHost
) -> None:
    (a, first), (b, second) = await begun(here, host, "a", "b")
    await first.answer_and_exit("1")
    await told_of(host, a)
    await second.answer_and_exit("2")
    await told_of(host, b)
    log = log_of(host)
    assert await host.bye() == 0
    for shown, expected in (([a], [(b, True)]), ([b], [(a, False)])):
        async with open_bridge(here.work.project, here.work.env) as back:
            await back.open(*log, reason="resume", endsShown=shown)
            await told_of(back, *(run_id for run_id, _ in expected))
            assert await back.bye() == 0
        assert waking(back) == expected


async def test_a_stop_is_an_end(here: PresetPlace, host: BridgeHost) -> None:
    ((a, child),) = await begun(here, host, "a")
    await host.call("background_agent_stop", {})
    await child.gone()
    await told_of(host, a)
    assert await host.bye() == 0
    assert waking(host) == [(a, True)]


async def test_nobody_is_woken_who_did_not_ask_for_it_whatever_a_project_says(
    here: PresetPlace,
) -> None:
    settings(here.work.home / ".pi/agent")
    settings(here.work.project / ".pi", wake_parent=True)
    async with open_bridge(here.work.project, here.work.env) as host:
        await host.open()
        ((a, child),) = await begun(here, host, "a")
        await child.answer_and_exit("1")
        await told_of(host, a)
        assert await host.bye() == 0
    assert waking(host) == [(a, False)]
