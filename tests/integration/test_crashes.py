"""Whoever is killed in the middle, the truth is told and nobody is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.auditor import read_journal
from tests.fakes.child_modes import takes_long
from tests.fakes.driver import PATIENCE_S
from tests.fakes.processes import parent_of
from tests.fakes.workplace import answered, comparable, expected, tokens

import pi_subagents
from pi_subagents.core.run import events as ev
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Delegating, Workplace

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

pytestmark = takes_long
ORCHESTRATOR = Path(__file__).parents[1] / "fakes" / "orchestrator.py"
SOURCES = Path(pi_subagents.__file__).parents[1]
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"


@asynccontextmanager
async def orchestrator(
    place: Workplace, *prompts: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a caller of its own; it is gone at the end, whatever happened."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ORCHESTRATOR), str(place.project), *prompts),
        env={**place.env, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def end_of(run: RunDir) -> RunResult:
    """Return the result once nobody answers for the run any more: its lock is free."""
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.to_thread(run.desk.wait_for_end, PATIENCE_S)
    result = run.read_result()
    assert result is not None
    return result


async def supervisor_of(place: Workplace, work: Delegating, child: FakeProcess) -> int:
    """Return the pid of a child's supervisor, which has done all it does at the start."""
    name = place.run_dir(child).read_meta()["name"]
    await work.sees(ev.StateChanged("running"), str(name))
    supervisor = place.run_dir(child).read_meta()["supervisor"]
    assert isinstance(supervisor, dict)
    pid = supervisor["pid"]
    assert isinstance(pid, int)
    return pid


async def test_an_orchestrator_of_its_own_process_delegates(place: Workplace) -> None:
    async with orchestrator(place, "hello") as caller:
        await (await place.child("hello")).answer_and_exit("hi")
        output, _ = await caller.communicate()
        assert caller.returncode == 0, output
    (run,) = place.run_dirs()
    assert comparable(await end_of(run)) == answered("hello", "hi")


async def test_kill_9_of_the_orchestrator_interrupts_its_runs(place: Workplace) -> None:
    async with orchestrator(place, "working", "idle") as caller:
        working, idle = await place.child("working"), await place.child("idle")
        await working.tool("bash", {"command": "setsid server &"})
        await working.fork_setsid()
        grandchild = await place.driver.grandchild()
        caller.kill()
        for process in (working, idle, grandchild):
            await process.gone()
        assert comparable(await end_of(place.run_dir(working))) == expected(
            "working",
            "interrupted",
            error_message=INTERRUPTED,
            exit_code=143,
            stop_reason="toolUse",
            message_count=3 + place.takes_commands,  # asked to stop, it says that it was
            tool_call_count=1,
            usage=tokens(1),
        )
        assert comparable(await end_of(place.run_dir(idle))) == expected(
            "idle", "interrupted", error_message=INTERRUPTED, exit_code=143
        )
    assert len(place.driver.children) == 2


async def test_what_a_killed_orchestrator_had_planned_is_concluded_at_the_next_look(
    place: Workplace,
) -> None:
    async with orchestrator(place, "running", "running too", "waiting") as caller:
        children = [await place.child("running"), await place.child("running too")]
        caller.kill()
        for child in children:
            await child.gone()
            await end_of(place.run_dir(child))
    (waiting,) = [run for run in place.run_dirs() if run.read_result() is None]
    assert Runs(place.project, place.env).recover() == [waiting]
    assert Runs(place.project, place.env).recover() == []
    result = waiting.read_result()
    assert result is not None
    assert comparable(result) == expected("waiting", "interrupted", error_message=INTERRUPTED)
    assert len(place.driver.children) == 2


async def test_an_answer_that_was_given_survives_the_orchestrator(place: Workplace) -> None:
    async with orchestrator(place, "answered", "asked") as caller:
        done, asked = await place.child("answered"), await place.child("asked")
        await done.answer_and_exit("42")
        finished = await end_of(place.run_dir(done))
        caller.kill()
        await asked.gone()
        assert comparable(finished) == answered("answered", "42")
        assert place.run_dir(done).read_result() == finished
        assert (await end_of(place.run_dir(asked))).status == "interrupted"


async def test_kill_9_of_the_supervisor_is_told_and_its_child_dies_with_it(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("orphan", "sibling")
    orphan, sibling = await place.child("orphan"), await place.child("sibling")
    await orphan.tool("bash", {"command": "make"})
    await work.sees(ev.ToolFinished)
    os.kill(await supervisor_of(place, work, orphan), signal.SIGKILL)
    await orphan.gone()
    assert comparable(await work.result_of("orphan")) == expected(
        "orphan",
        "interrupted",
        error_message=INTERRUPTED,
        stop_reason="toolUse",
        message_count=3,
        tool_call_count=1,
        usage=tokens(1),
    )
    await sibling.answer_and_exit("unharmed")
    assert comparable((await work.results())[1]) == answered("sibling", "unharmed")
    kept = [entry.event for entry in read_journal(place.run_dir(orphan))]
    assert kept == [update.what for update in work.updates if update.run.index == 0][:-1]


async def test_a_child_dies_with_its_supervisor_though_nobody_watches(place: Workplace) -> None:
    async with orchestrator(place, "unwatched") as caller:
        child = await place.child("unwatched")
        await child.write(b"\n", until_read=True)  # its supervisor is at work
        caller.send_signal(signal.SIGSTOP)
        os.kill(parent_of(child.pid), signal.SIGKILL)
        await child.gone()
        caller.kill()
    run = place.run_dir(child)
    assert Runs(place.project, place.env).recover() == [run]
    assert (await end_of(run)).error_message == INTERRUPTED


async def test_what_survives_kill_9_of_the_supervisor_is_found_and_ended(place: Workplace) -> None:
    """Neither a parent-death signal nor a process group reaches these: their marker does."""
    work = place.delegate_by_api("stubborn")
    child = await place.child("stubborn")
    await child.do("ignore_term")
    await child.fork_setsid()
    grandchild = await place.driver.grandchild()
    os.kill(await supervisor_of(place, work, child), signal.SIGKILL)
    assert (await work.result()).status == "interrupted"
    await child.gone()
    await grandchild.gone()


async def test_an_answer_that_was_journaled_survives_kill_9_of_the_supervisor(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("quick")
    child = await place.child("quick")
    await child.say("42")
    await child.settle()
    await work.sees(ev.Settled())
    os.kill(await supervisor_of(place, work, child), signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.output) == ("interrupted", "42")
    assert result.notes == (store_messages.NOTE_HAD_ANSWERED,)
    await child.gone()


async def test_a_run_whose_directory_was_removed_before_it_began_is_done_all_the_same(
    place: Workplace,
) -> None:
    work = place.delegate("homeless", "sibling")
    (run,) = [run for run in place.run_dirs() if run.read_meta()["name"] == "homeless"]
    shutil.rmtree(run.path)  # planned, not started: the work has not had its first turn yet
    child = await place.child("homeless")
    assert await child.prompt() == b"homeless"
    await child.answer_and_exit("done")
    await (await place.child("sibling")).answer_and_exit("unharmed")
    homeless, sibling = await work.results()
    note = supervisor_messages.note_rescued(str(run.path), str(run.now().path))
    assert comparable(homeless) == answered("homeless", "done", notes=(note,))
    assert run.now().read_result() == homeless
    assert comparable(sibling) == answered("sibling", "unharmed")


async def test_the_terminals_signals_do_not_reach_supervisor_or_child(place: Workplace) -> None:
    """They are in sessions of their own: Ctrl+C is for the caller, who decides."""
    work = place.delegate_by_api("detached")
    child = await place.child("detached")
    supervisor = await supervisor_of(place, work, child)
    assert os.getsid(supervisor) == supervisor != os.getsid(0)
    assert os.getpgid(child.pid) == child.pid
    await child.answer_and_exit("done")
    assert comparable(await work.result()) == answered("detached", "done")
