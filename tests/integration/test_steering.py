"""Messages for children at work, told by every face: real supervisors, fake children."""

from __future__ import annotations

import asyncio
import queue
from typing import TYPE_CHECKING, Any

import pytest
from tests import tool_names
from tests.fakes.child_modes import JSON, in_rpc_mode
from tests.fakes.driver import PATIENCE_S
from tests.fakes.mcp_host import in_process, tasks, text_of, value_of
from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents import Steered, steer
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.errors import SteerTargetNotFound
from pi_subagents.service import messages as service_messages
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.store.orders import send

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = in_rpc_mode

MESSAGE = "Use the other file."


def steering(place: Workplace, any_id: str, message: str = MESSAGE) -> asyncio.Task[Steered]:
    """Send a message, and wait for long until it was read."""
    call = steer(any_id, message, wait_seconds=PATIENCE_S, cwd=place.project, env=place.env)
    return asyncio.create_task(call)


async def queued(child: FakeProcess, count: int = 1) -> list[str]:
    """Return the messages that wait in a child, once there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while len(waiting := (await child.do("queue"))["queue"]) < count:
            await asyncio.sleep(0)
    return list(waiting)


async def test_a_message_is_told_when_it_is_read_and_shown_once(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    sent = steering(place, child.run_id[:8])
    assert await queued(child) == [MESSAGE]
    assert not sent.done()
    (number,) = place.run_dir(child).desk.waiting_steers()
    assert await child.take_steer() == MESSAGE
    heard = await sent
    await child.answer_and_exit("Done.")
    result = await work.result()
    assert heard == Steered(child.run_id, result.session_id, "look", "delivered", called="look")
    assert result.status == "completed"
    await work.sees(ev.Steer(number, ev.DELIVERED, MESSAGE))
    transcript = place.run_dir(child).transcript.read_text()
    assert transcript.count(MESSAGE) == transcript.count(f"\nSteered: {MESSAGE}\n") == 1


async def test_messages_are_read_in_their_order(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    first = steering(place, child.run_id, "first")
    await queued(child)
    second = steering(place, child.run_id, "second")
    assert await queued(child, 2) == ["first", "second"]
    await child.take_steer()
    assert (await first).status == "delivered"
    assert not second.done()
    await child.take_steer()
    assert (await second).status == "delivered"
    await child.answer_and_exit("Done.")
    await work.result()


async def test_a_message_that_pi_refuses_is_told_as_refused(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    await child.do("refuse", command="steer")
    heard = await steering(place, child.run_id)
    assert heard.status == "refused"
    assert heard.reason.startswith(pi_messages.steer_refused_by_child(""))
    await child.answer_and_exit("Done.")
    await work.result()


async def test_a_message_that_comes_too_late_is_told_as_refused(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    sent = steering(place, child.run_id)
    await queued(child)
    await child.say("Done.")
    await child.settle()
    heard = await sent
    assert (heard.status, heard.reason) == ("refused", core_messages.STEER_TOO_LATE)
    await child.exit(0)
    result = await work.result()
    refused = await steering(place, result.session_id)
    assert (refused.status, refused.reason) == (
        "refused",
        service_messages.steer_after_end("completed", result.session_id),
    )


async def test_a_run_that_is_killed_has_not_read_its_message(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    sent = steering(place, child.run_id)
    await queued(child)
    work.force()
    heard = await sent
    assert (heard.status, heard.reason) == ("refused", core_messages.STEER_TOO_LATE)
    assert (await work.result()).status == "aborted"


async def test_a_run_that_waits_its_turn_reads_its_message_when_it_begins(
    place: Workplace,
) -> None:
    place.settings(max_concurrency=1)
    work = place.delegate_by_api("first", "second")
    first = await place.child("first")
    (waiting,) = (each for each in place.run_dirs() if each.run_id != first.run_id)
    heard = await steer(waiting.run_id, MESSAGE, wait_seconds=0, cwd=place.project, env=place.env)
    assert (heard.status, heard.reason) == ("accepted", service_messages.STEER_AT_ITS_START)
    (number,) = waiting.desk.waiting_steers()
    await first.answer_and_exit("Done.")
    second = await place.child("second")
    assert await queued(second) == [MESSAGE]
    await second.take_steer()
    await work.sees(ev.Steer(number, ev.DELIVERED, MESSAGE), "second")
    assert (await second.do("queue"))["queue"] == []  # it came once
    await second.answer_and_exit("Done.")
    await work.results()


@pytest.mark.child_modes(JSON)
async def test_a_child_in_json_mode_takes_no_message(place: Workplace) -> None:
    work = place.delegate_by_api("look")
    child = await place.child("look")
    heard = await steering(place, child.run_id)
    assert (heard.status, heard.reason) == ("refused", pi_messages.STEER_JSON_MODE)
    # Whoever gets round that refusal is told by the supervisor.
    run_dir = place.run_dir(child)
    number = run_dir.desk.write_steer(MESSAGE)
    assert send(run_dir.desk, f"steer {number}")
    await work.sees(ev.Steer(number, ev.REFUSED, MESSAGE, pi_messages.STEER_JSON_MODE))
    await child.answer_and_exit("Done.")
    await work.result()


async def test_a_host_steers_what_its_delegation_left_at_work(place: Workplace) -> None:
    async with in_process(place, within_s=0.05) as client:
        began = value_of(await client.call_tool(tool_names.DELEGATE, tasks("look")))
        session = began["results"][0]["sessionId"]
        child = await place.child("look")
        asked: dict[str, Any] = {"sessionId": session, "message": MESSAGE}
        # It is not waited for longer than the host may be kept waiting.
        accepted = await client.call_tool(tool_names.STEER, asked)
        assert text_of(accepted) == "Accepted, not read yet. " + (
            service_messages.STEER_AFTER_THIS_STEP
        )
        assert await queued(child) == [MESSAGE]
        await child.take_steer()
        await child.answer_and_exit("Done.")
        await asyncio.to_thread(place.run_dir(child).desk.wait_for_end, PATIENCE_S)
        refused = await client.call_tool(tool_names.STEER, asked)
        assert value_of(refused) == {
            "sessionId": session,
            "runId": child.run_id,
            "taskName": "look",
            "status": "refused",
            "reason": service_messages.steer_after_end("completed", session),
        }
        unknown = await client.call_tool(tool_names.STEER, {**asked, "sessionId": "nobody"})
        assert unknown.is_error
        assert text_of(unknown) == str(SteerTargetNotFound("nobody"))


async def test_who_watches_a_background_run_can_steer_it(place: Workplace) -> None:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    started = await here.call(tool_names.BACKGROUND, preset="scout", task="look")
    details = started["details"]
    assert isinstance(details, dict)
    child = await place.child("look")
    actions = FleetActions(place.project, place.env, queue.Queue[ActionReport]().put)
    sent = asyncio.create_task(asyncio.to_thread(actions.steer, details["runId"], MESSAGE))
    await queued(child)
    await child.take_steer()
    assert await sent == ActionReport("Delivered: look has read the message.")
    await child.answer_and_exit("Done.")
    await asyncio.to_thread(place.run_dir(child).desk.wait_for_end, PATIENCE_S)
    refused = await asyncio.to_thread(actions.steer, details["runId"], MESSAGE)
    assert refused.bad
    assert (await asyncio.to_thread(actions.steer, "nobody", MESSAGE)).bad
    assert (await asyncio.to_thread(actions.steer, details["runId"], " ")).bad
