"""A supervisor that stands still keeps nobody: not its caller, not who stops the run, no process."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace
from tests.fakes.processes import parent_of
from tests.fakes.workplace import answered, comparable, expected, tokens

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.errors import RunNotAnswering, RunNotEnded
from pi_subagents.runners import attachment, pool
from pi_subagents.service.call import Pool
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages
from pi_subagents.store import orders

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = in_both_modes


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait long enough for whoever lives, and not as long as in use."""
    monkeypatch.setattr(orders, "ANSWER_LIMIT_S", 0.5)
    monkeypatch.setattr(attachment, "SIGN_LIMIT_S", 2)
    monkeypatch.setattr(attachment, "PING_EVERY_S", 0.1)
    monkeypatch.setattr(attachment, "PING_LIMIT_S", 0.5)


async def at_work(place: Workplace, work: Delegating, name: str) -> FakeProcess:
    """Return the child of a run that has begun, with a process of its own below it."""
    child = await place.child(name)
    await child.fork_setsid()
    await work.sees(ev.StateChanged("running"), name)
    return child


def halted(name: str, **more: object) -> RunResult:
    """Return what is told of a run whose supervisor was ended because it stood still."""
    return expected(
        name,
        "aborted",
        error_message=core_messages.STOPPED_ON_REQUEST,
        notes=(store_messages.NOTE_PUT_DOWN,),
        **more,
    )


async def test_ctrl_c_ends_a_run_whose_supervisor_stands_still(place: Workplace) -> None:
    work = place.delegate_by_api("hung", "sibling")
    child, sibling = await at_work(place, work, "hung"), await place.child("sibling")
    grandchild = await place.driver.grandchild()
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    work.stop()
    hung, other = await work.results()
    assert comparable(hung) == halted("hung")
    assert comparable(other) == expected(
        "sibling", "aborted", error_message=core_messages.STOPPED_ON_REQUEST, exit_code=143
    )
    for process in (child, sibling, grandchild):
        await process.gone()


async def test_a_cancelled_caller_is_not_kept_by_a_supervisor_that_stands_still(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("hung")
    child = await at_work(place, work, "hung")
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    work.work.cancel()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(asyncio.CancelledError):
            await work.work
    await child.gone()
    result = place.run_dir(child).read_result()
    assert result is not None
    assert comparable(result) == halted("hung")


async def test_a_supervisor_that_stands_still_after_it_took_the_order_is_ended(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attachment, "SWEEP_LIMIT_S", 0)
    monkeypatch.setattr(attachment, "END_SLACK_S", 0.5)
    work = place.delegate("hung", stop_grace_s=1.0)
    child = await at_work(place, work, "hung")
    await child.do("ignore_term")
    work.stop()
    await work.sees(ev.StateChanged("stopping"))
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    assert comparable(await work.result()) == halted("hung")
    await child.gone()


async def test_a_time_out_holds_though_the_supervisor_stands_still(place: Workplace) -> None:
    work = place.delegate_by_api(Task("hung", "hung", timeout_s=1), "sibling")
    child, sibling = await at_work(place, work, "hung"), await place.child("sibling")
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    assert comparable(await work.result_of("hung")) == expected(
        "hung",
        "failed",
        error_message=core_messages.timed_out(1),
        notes=(store_messages.NOTE_PUT_DOWN,),
    )
    await child.gone()
    await sibling.answer_and_exit("unharmed")
    assert comparable((await work.results())[1]) == answered("sibling", "unharmed")


async def test_a_run_that_may_go_on_beyond_its_time_is_left_alone(place: Workplace) -> None:
    """Its supervisor answers, however often it is asked: what is long is not hung."""
    place.settings(extend_timeout_debounce=30, child_mode=place.child_mode)
    work = place.delegate_by_api(Task("long", "long", timeout_s=1))
    child = await place.child("long")
    await child.do("pulse", kind="updates", every_s=0.1, times=30)
    await child.answer_and_exit("done")
    result = await work.result()
    assert comparable(result) == answered("long", "done", notes=result.notes)


async def test_an_answer_that_was_given_before_its_supervisor_hung_is_kept(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("hung")
    child = await place.child("hung")
    await child.say("the answer")
    await child.settle()
    await work.sees(ev.Settled())
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    work.stop()
    assert comparable(await work.result()) == answered(
        "hung", "the answer", exit_code=None, notes=(store_messages.NOTE_PUT_DOWN,)
    )


# Stopped by somebody else


async def test_a_stop_of_a_hung_run_has_an_end_and_says_what_helps(place: Workplace) -> None:
    work = place.delegate_by_api("hung")
    child = await at_work(place, work, "hung")
    supervisor = parent_of(child.pid)
    os.kill(supervisor, signal.SIGSTOP)
    runs = Runs(place.project, place.env)
    with pytest.raises(RunNotAnswering) as refusal:
        await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=False)
    assert f"subagents stop --force {child.run_id[:8]}" in str(refusal.value)
    await child.echo()
    os.kill(supervisor, signal.SIGCONT)  # what it was told meanwhile, it does
    assert comparable(await work.result()) == expected(
        "hung", "aborted", error_message=core_messages.STOPPED_ON_REQUEST, exit_code=143
    )


async def test_force_ends_a_run_whose_supervisor_is_halted_with_its_whole_tree(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("hung", "sibling")
    child, sibling = await at_work(place, work, "hung"), await place.child("sibling")
    await child.do("ignore_term")
    await child.tool("bash", {"command": "make"})
    await work.sees(ev.ToolFinished)
    grandchild = await place.driver.grandchild()
    os.kill(parent_of(child.pid), signal.SIGSTOP)
    runs = Runs(place.project, place.env)
    view = await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=True)
    assert view.result is not None
    expected_result = halted(
        "hung", stop_reason="toolUse", message_count=3, tool_call_count=1, usage=tokens(1)
    )
    assert comparable(view.result) == expected_result
    for process in (child, grandchild):
        await process.gone()
    assert comparable(await work.result_of("hung")) == expected_result, "its caller tells the same"
    await sibling.answer_and_exit("unharmed")
    assert comparable((await work.results())[1]) == answered("sibling", "unharmed")


async def test_force_ends_a_background_run_whose_supervisor_is_halted(place: Workplace) -> None:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    run_id, child = await here.started("hung")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    os.kill(await here.supervisor(run_id, child), signal.SIGSTOP)
    runs = Runs(place.project, place.env)
    view = await asyncio.to_thread(runs.stop, runs.find(run_id), force=True)
    assert (view.status, view.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)
    for process in (child, grandchild):
        await process.gone()
    assert not here.run_dir(run_id).alive()
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["notes"]) == ("aborted", [store_messages.NOTE_PUT_DOWN])


async def test_who_was_killed_while_he_forced_a_run_to_end_leaves_the_truth_behind(
    place: Workplace,
) -> None:
    """The reason is noted before anybody is killed, so that the next look tells it."""
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    run_id, child = await here.started("hung")
    here.run_dir(run_id).desk.note_cause("stopped")
    await here.kill_supervisor(run_id, child, signal.SIGKILL)
    await here.ended(run_id)
    Runs(place.project, place.env).recover()
    result = here.run_dir(run_id).read_result()
    assert result is not None
    assert (result.status, result.error_message) == ("aborted", core_messages.STOPPED_ON_REQUEST)


async def test_a_run_that_takes_the_order_and_does_not_end_is_said(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "STOP_LIMIT_S", 0.2)
    work = place.delegate("slow", stop_grace_s=2.0)
    child = await at_work(place, work, "slow")
    await child.do("ignore_term")
    runs = Runs(place.project, place.env)
    with pytest.raises(RunNotEnded):
        await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=False)
    assert (await work.result()).status == "aborted"


async def test_a_supervisor_that_waits_for_work_and_stands_still_is_ended_with_its_host(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not place.takes_commands:
        pytest.skip("such children wait for nothing")
    place.settings(child_mode="rpc", reuse_children=True, warm_children=1)
    monkeypatch.setattr(pool, "LEAVE_LIMIT_S", 0.5)
    async with Pool() as host:
        work = place.delegate_by_api("one", pool=host)
        child = await place.child("one")
        await child.answer_and_exit("1")
        assert comparable(await work.result()) == answered("one", "1")
        os.kill(parent_of(child.pid), signal.SIGSTOP)
    for each in place.driver.children:
        await each.gone()
