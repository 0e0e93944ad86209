"""A limit of the provider costs time, not work: the run waits, and another child of it goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

from tests.fakes.child_modes import takes_long

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import LIMIT
from pi_subagents.service.runs import Runs
from pi_subagents.store.provider_limits import ProviderLimits
from pi_subagents.system.identity import identity_from_json

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.question import WaitingFor

pytestmark = takes_long
SOON, LATER = ("429 Too many requests, try again in 300ms", "429, try again in 1h")


async def meets_limit(child: FakeProcess, words: str) -> None:
    """Fail for a limit, and give up."""
    await child.do("fail", message=words)
    await child.settle()
    await child.exit(0)


async def what_it_waits_for(place: Workplace, kind: str, index: int = 0) -> WaitingFor:
    """Return what a run waits for, once everybody can see it."""
    async with asyncio.timeout(20):
        while True:
            for run in place.run_dirs()[index:]:
                if (waits := run.desk.waits()) and waits[0].kind == kind:
                    return waits[0]
            await asyncio.sleep(0.01)


async def test_a_child_that_gave_up_is_followed_by_one_that_is_asked_the_same(
    place: Workplace,
) -> None:
    work = place.delegate("patient")
    await meets_limit(await place.child("patient"), SOON)
    second = await place.driver.next_child(1)
    assert await second.prompt() == b"patient"
    await second.answer_and_exit("here it is")
    result = await work.result()
    assert (result.status, result.output) == ("completed", "here it is")
    assert work.states() == ["starting", "running", "running", "completed"]
    assert place.run_dirs()[0].read_meta()["child"] is not None


async def test_while_it_waits_the_reason_is_shown_and_a_stop_is_immediate(
    place: Workplace,
) -> None:
    work = place.delegate("patient", timeout_s=3600)
    await meets_limit(await place.child("patient"), LATER)
    waiting = await what_it_waits_for(place, LIMIT)
    assert 3590 < waiting.until_ms / 1000 - time.time() < 3620
    assert waiting.text.startswith("pi has reached its limit; goes on at ")
    await work.sees(ev.Note(waiting.text))
    runs = Runs(place.project, place.env)
    record = runs.find(place.run_dirs()[0].run_id)
    assert (record.status, record.why_it_waits) == ("running", waiting.text)
    assert record.question is None
    work.stop()
    result = await work.result()
    assert (result.status, result.error_message) == ("aborted", messages.STOPPED_ON_REQUEST)
    assert len(place.driver.children) == 1


async def test_no_child_is_started_into_a_known_limit_and_then_one_by_one(
    place: Workplace,
) -> None:
    now_ms = round(time.time() * 1000)
    ProviderLimits(place.store.data_dir, "acme").note(now_ms + 300, now_ms)
    one = place.delegate("one", provider="acme", account="")
    first = await place.child("one")
    two = place.delegate("two", provider="acme", account="")
    waiting = await what_it_waits_for(place, LIMIT)
    assert waiting.text == "acme was at its limit; children are let in one by one"
    assert len(place.driver.children) == 1
    await first.answer_and_exit("1")
    await (await place.child("two")).answer_and_exit("2")
    assert [(await each.result()).output for each in (one, two)] == ["1", "2"]


async def test_a_limit_that_takes_too_long_fails_the_run_saying_until_when(
    place: Workplace,
) -> None:
    work = place.delegate("hasty", limit_wait_s=60)
    await meets_limit(await place.child("hasty"), LATER)
    result = await work.result()
    assert result.status == "failed"
    assert result.error_message.startswith("pi has reached its limit until ")
    assert result.error_message.endswith(
        ", and a run waits 60 s at most (limit_wait_max). To go on then, resume it."
    )


async def test_a_supervisor_that_is_killed_while_it_waits_leaves_an_interrupted_run(
    place: Workplace,
) -> None:
    work = place.delegate("victim")
    await meets_limit(await place.child("victim"), LATER)
    await what_it_waits_for(place, LIMIT)
    supervisor = identity_from_json(place.run_dirs()[0].desk.read_supervisor())
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.error_message) == ("interrupted", messages.INTERRUPTED)


async def test_an_error_that_time_does_not_mend_fails_as_before(place: Workplace) -> None:
    work = place.delegate("unlucky")
    await meets_limit(await place.child("unlucky"), "400 the model is gone")
    result = await work.result()
    assert (result.status, result.error_message) == ("failed", "400 the model is gone")
    assert len(place.driver.children) == 1


async def test_children_of_one_provider_are_as_many_as_the_user_says(
    place: Workplace,
) -> None:
    slots = str(place.home / "slots")
    one = place.delegate("one", slots_dir=slots, provider="acme", max_of_provider=1)
    first = await place.child("one")
    two = place.delegate("two", slots_dir=slots, provider="acme", max_of_provider=1)
    waiting = await what_it_waits_for(place, LIMIT)
    assert waiting.text == "All places for children of acme are taken (provider_limits: 1)"
    other = place.delegate("other", slots_dir=slots, provider="other", max_of_provider=1)
    await (await place.child("other")).answer_and_exit("3")
    await first.answer_and_exit("1")
    await (await place.child("two")).answer_and_exit("2")
    assert [(await each.result()).output for each in (one, two, other)] == ["1", "2", "3"]
