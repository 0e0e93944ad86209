"""Whatever a child does, a stop ends it and everything it left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import EVERY_CHILD_MODE, in_both_modes, takes_long
from tests.fakes.strangers import connected, flooded
from tests.fakes.workplace import answered, comparable, expected, tokens

import pi_subagents
from pi_subagents.api import call_tool
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.task.request import Task
from pi_subagents.errors import RunNotActive, RunNotListening
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages
from pi_subagents.store import orders
from pi_subagents.store.orders import send

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = in_both_modes
SOURCES = Path(pi_subagents.__file__).parents[1]
FOR_EVER_S = 3600.0


def stopped(name: str, **more: object) -> RunResult:
    return expected(name, "aborted", error_message="Stopped on request", **more)


async def test_a_well_behaved_child_ends_at_the_first_word(place: Workplace) -> None:
    work = place.delegate_by_api("polite")
    child = await place.child("polite")
    work.stop()
    assert comparable(await work.result()) == stopped("polite", exit_code=143)
    await child.gone()


@pytest.mark.sample
async def test_a_child_that_ignores_sigterm_is_killed_after_its_grace(place: Workplace) -> None:
    work = place.delegate("stubborn", stop_grace_s=0.2)
    child = await place.child("stubborn")
    await child.do("ignore_term")
    work.stop()
    assert comparable(await work.result()) == stopped(
        "stubborn", exit_code=137, signal_name="SIGKILL"
    )
    await child.gone()


async def test_a_child_that_ignores_sigterm_cannot_outstay_its_time_out(place: Workplace) -> None:
    work = place.delegate("endless", timeout_s=2, extend_debounce_s=0, stop_grace_s=0.2)
    child = await place.child("endless")
    await child.do("ignore_term")
    await child.tool("bash", {"command": "sleep 1000"})
    result = await work.result()
    assert comparable(result) == expected(
        "endless",
        "failed",
        error_message="Timed out after 2s. Consider resuming with a longer timeout.",
        exit_code=137,
        signal_name="SIGKILL",
        stop_reason="toolUse",
        message_count=3,
        tool_call_count=1,
        usage=tokens(1),
    )
    await child.gone()


async def test_what_a_tool_left_in_its_own_session_is_gone_after_a_stop(place: Workplace) -> None:
    work = place.delegate_by_api("leaver")
    child = await place.child("leaver")
    await child.tool("bash", {"command": "setsid sleep 1000 &"})
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    await grandchild.echo()
    work.stop()
    await work.result()
    await child.gone()
    await grandchild.gone()


async def test_what_a_tool_left_in_its_own_session_is_gone_after_a_normal_end(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("leaver")
    child = await place.child("leaver")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    await child.answer_and_exit("all done")
    assert comparable(await work.result()) == answered("leaver", "all done")
    await grandchild.gone()


async def test_a_grandchild_that_holds_the_output_does_not_delay_the_result(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("holder")
    child = await place.child("holder")
    await child.fork_setsid(holding_stdout=True)
    grandchild = await place.driver.grandchild()
    await child.answer_and_exit("all done")
    assert comparable(await work.result()) == answered("holder", "all done")
    await grandchild.gone()


@takes_long
async def test_a_hundred_grandchildren_are_gone_too(place: Workplace) -> None:
    work = place.delegate_by_api("breeder")
    child = await place.child("breeder")
    for _ in range(100):
        await child.fork_setsid()
    brood = await place.driver.grandchildren(100)
    work.force()
    assert (await work.result()).status == "aborted"
    for grandchild in brood:
        await grandchild.gone()


@takes_long
@pytest.mark.parametrize("own_sessions", [False, True], ids=["one session", "many sessions"])
@pytest.mark.parametrize("chains", [16, 64] if EVERY_CHILD_MODE else [16])
async def test_processes_that_fork_and_exit_without_an_end_are_all_stopped(
    place: Workplace, tmp_path: Path, chains: int, own_sessions: bool
) -> None:
    """How fast they can be is shown in tests/faults/test_storms.py."""
    going_on = tmp_path / "going on"
    going_on.touch()
    work = place.delegate_by_api("storm")
    child = await place.child("storm")
    await child.do("storm", chains=chains, own_sessions=own_sessions, while_exists=str(going_on))
    work.force()
    try:
        result = await work.result()
        assert (result.status, result.notes) == ("aborted", ())
        await child.gone()  # its connection is theirs too: nobody has it any more
    finally:
        going_on.unlink()


async def test_a_child_halted_by_sigstop_can_be_stopped(place: Workplace) -> None:
    """It is woken to hear the request: it ends by itself, long before it would be killed."""
    work = place.delegate_by_api("halted")
    child = await place.child("halted")
    child.signal(signal.SIGSTOP)
    work.stop()
    assert comparable(await work.result()) == stopped("halted", exit_code=143)
    await child.gone()


async def test_a_halted_grandchild_is_gone_too(place: Workplace) -> None:
    work = place.delegate_by_api("parent")
    child = await place.child("parent")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    grandchild.signal(signal.SIGSTOP)
    work.stop()
    await work.result()
    await grandchild.gone()


async def test_a_stop_aborts_what_runs_and_never_starts_what_waits(place: Workplace) -> None:
    names = [f"task {number}" for number in range(6)]
    work = place.delegate_by_api(*names, concurrency=2)
    await place.child("task 0")
    await place.child("task 1")
    work.stop()
    results = await work.results()
    assert [comparable(result) for result in results] == [
        *(stopped(name, exit_code=143) for name in names[:2]),
        *(stopped(name) for name in names[2:]),
    ]
    assert sorted(child.prompt_line for child in place.driver.children) == names[:2]
    assert len(place.run_dirs()) == 6


async def test_a_switch_that_was_thrown_before_starts_nothing(place: Workplace) -> None:
    work = place.delegate_by_api("late", "later")
    work.stop()  # the work has not had its first turn yet
    assert [comparable(result) for result in await work.results()] == [
        stopped("late"),
        stopped("later"),
    ]
    assert place.driver.processes == []


async def test_force_ends_a_child_that_ignores_sigterm_without_its_grace(place: Workplace) -> None:
    """The grace is for ever: only the second request shortens it."""
    work = place.delegate("stubborn", stop_grace_s=FOR_EVER_S)
    child = await place.child("stubborn")
    await child.do("ignore_term")
    work.stop()
    await work.sees(ev.StateChanged("stopping"))
    await child.echo()
    work.force()
    result = await work.result()
    assert comparable(result) == stopped("stubborn", exit_code=137, signal_name="SIGKILL")


async def test_a_stop_after_the_answer_keeps_the_answer(place: Workplace) -> None:
    work = place.delegate_by_api("quick")
    child = await place.child("quick")
    await child.say("here it is")
    await child.settle()
    await work.sees(ev.Settled())
    work.stop()
    assert comparable(await work.result()) == answered("quick", "here it is", exit_code=143)


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_cancelled_caller_hears_of_it_when_all_is_gone(
    place: Workplace, *, stubborn: bool
) -> None:
    work = place.delegate("one", "two", "waiting", concurrency=2, stop_grace_s=1.5)
    children = [await place.child("one"), await place.child("two")]
    await children[0].fork_setsid()
    family: list[FakeProcess] = [*children, await place.driver.grandchild()]
    if stubborn:
        await children[0].do("ignore_term")
    work.work.cancel()
    if stubborn:  # meanwhile the caller's other work goes on
        await work.sees(ev.StateChanged("stopping"), "one")
        await children[0].echo()
        assert not work.work.done()
    with pytest.raises(asyncio.CancelledError):
        await work.work
    # Dead already: the news only has to come in, nobody has time to do anything.
    for process in family:
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        await process.gone()
    statuses = {run.read_result() for run in place.run_dirs()}
    assert sorted((r.name, r.status, r.error_message) for r in statuses if r) == [
        ("one", "aborted", core_messages.STOPPED_ON_REQUEST),
        ("two", "aborted", core_messages.STOPPED_ON_REQUEST),
        ("waiting", "aborted", core_messages.STOPPED_ON_REQUEST),
    ]
    assert len(place.driver.children) == 2


@pytest.mark.parametrize(("command", "code", "name"), [("stop", 143, ""), ("kill", 137, "SIGKILL")])
async def test_another_process_can_stop_a_run_through_its_directory(
    place: Workplace, command: str, code: int, name: str
) -> None:
    work = place.delegate_by_api("remote")
    child = await place.child("remote")
    script = (
        "import sys; from pathlib import Path; from pi_subagents.store.desk import Desk; "
        "from pi_subagents.store.orders import send; "
        "sys.exit(0 if send(Desk(Path(sys.argv[1])), sys.argv[2]) else 1)"
    )
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(place.run_dir(child).desk.path), command),
        env={"PYTHONPATH": str(SOURCES)},
        stderr=subprocess.PIPE,
    )
    assert await other.wait() == 0
    assert comparable(await work.result()) == stopped("remote", exit_code=code, signal_name=name)
    assert send(place.run_dir(child).desk, "stop") is False, "nobody listens any more"


async def test_a_run_that_takes_no_orders_is_not_called_stopped(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a file system has no sockets: it goes on, and so does its answer."""
    monkeypatch.setattr(orders, "ANSWER_LIMIT_S", 0.2)
    work = place.delegate_by_api("deaf")
    child = await place.child("deaf")
    await work.sees(ev.StateChanged("running"))
    run_dir = place.run_dir(child)
    run_dir.desk.control.unlink()
    runs = Runs(place.project, place.env)
    with pytest.raises(RunNotListening) as refusal:
        runs.stop(runs.find(run_dir.run_id), force=False)
    assert refusal.value.run == run_dir.run_id
    actions = FleetActions(place.project, place.env, lambda _: None)
    refused = str(RunNotListening(run_dir.run_id))
    assert actions.stop(run_dir.run_id) == ActionReport(refused, bad=True)
    answer = await call_tool(
        "background_agent_stop", {"runId": run_dir.run_id}, cwd=place.project, env=place.env
    )
    assert (answer["isError"], answer["content"]) == (True, [{"type": "text", "text": refused}])
    await child.answer_and_exit("the answer")
    assert comparable(await work.result()) == answered("deaf", "the answer")


async def test_a_run_that_takes_no_orders_can_be_forced_to_end(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "ANSWER_LIMIT_S", 0.2)
    work = place.delegate_by_api("deaf")
    child = await place.child("deaf")
    await work.sees(ev.StateChanged("running"))
    place.run_dir(child).desk.control.unlink()
    runs = Runs(place.project, place.env)
    view = await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=True)
    assert view.status == "aborted"
    assert comparable(await work.result()) == stopped("deaf", notes=(store_messages.NOTE_PUT_DOWN,))
    await child.gone()


async def test_a_run_that_ended_before_the_order_came_is_over(place: Workplace) -> None:
    work = place.delegate_by_api("quick")
    child = await place.child("quick")
    await work.sees(ev.StateChanged("running"))
    runs = Runs(place.project, place.env)
    view = runs.find(child.run_id)
    await child.answer_and_exit("the answer")
    await work.result()
    with pytest.raises(RunNotActive) as refusal:
        runs.stop(view, force=False)
    assert refusal.value.status == "completed"


async def test_nonsense_on_the_control_channel_changes_nothing(place: Workplace) -> None:
    work = place.delegate_by_api("calm")
    child = await place.child("calm")
    assert send(place.run_dir(child).desk, "dance\n\nstopp\n kill")
    await child.answer_and_exit("undisturbed")
    assert comparable(await work.result()) == answered("calm", "undisturbed")


async def test_half_a_line_on_the_control_channel_costs_nobody_a_stop(place: Workplace) -> None:
    work = place.delegate_by_api("interrupted")
    child = await place.child("interrupted")
    await work.sees(ev.StateChanged("running"))
    runs = Runs(place.project, place.env)
    with connected(place.run_dir(child).desk) as half:
        half.sendall(b"ste")
        view = await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=False)
        assert view.status == "aborted"
    assert comparable(await work.result()) == stopped("interrupted", exit_code=143)


async def test_a_flood_on_the_control_channel_costs_nobody_an_answer_or_a_stop(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("answering", "stopped")
    answering, child = await place.child("answering"), await place.child("stopped")
    await work.sees(ev.StateChanged("running"), "answering")
    await work.sees(ev.StateChanged("running"), "stopped")
    runs = Runs(place.project, place.env)
    with flooded(place.run_dir(answering).desk), flooded(place.run_dir(child).desk):
        view = await asyncio.to_thread(runs.stop, runs.find(child.run_id), force=False)
        assert view.status == "aborted"
        await answering.answer_and_exit("undisturbed")
        results = await work.results()
    assert [comparable(result) for result in results] == [
        answered("answering", "undisturbed"),
        stopped("stopped", exit_code=143),
    ]


async def test_a_supervisor_that_gets_sigterm_stops_its_run(place: Workplace) -> None:
    work = place.delegate_by_api(Task("ended by hand", "p", timeout_s=60))
    child = await place.child("p")
    await work.sees(ev.StateChanged("running"))
    supervisor = place.run_dir(child).read_meta()["supervisor"]
    assert isinstance(supervisor, dict)
    os.kill(supervisor["pid"], signal.SIGTERM)
    assert comparable(await work.result()) == stopped("ended by hand", exit_code=143)
