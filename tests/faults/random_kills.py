"""kill -9 at an instant that a seed chose: some place in a run's journal, caller or supervisor."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.faults.aftermath import (
    INTERRUPTED,
    Told,
    end_of,
    output_of,
    program,
    recovered,
)
from tests.faults.records import make_run

from pi_subagents.service.runs import Runs
from pi_subagents.store.tails import JournalTail

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.store.run_dir import RunDir

STEPS = 12
ENTRIES = 3 * STEPS + 6  # what a whole run journals, and a little more


async def kill_at_random(place: Workplace, seed: int) -> None:
    """Run one task, kill somebody somewhere, and check what is told afterwards."""
    chance = random.Random(seed)
    finished = make_run(Runs(place.project, place.env), f"finished {seed}")
    mode = chance.choice(["attached", "detached"])
    victim = chance.choice(["caller", "supervisor"])
    instant = chance.randint(1, ENTRIES)
    name = f"task {seed}"
    before = len(place.driver.processes)
    async with program(place, "caller.py", mode, str(place.project), name) as caller:
        child = await place.child(name)
        run = place.run_dir(child)
        await child.fork_setsid()
        _play(child, chance)
        await _journal_reaches(run, instant, caller)
        if victim == "supervisor":
            _kill_supervisor(run)
        elif caller.returncode is None:
            caller.kill()
        await output_of(caller)
    if victim == "caller" and mode == "attached":
        for process in place.driver.processes[before:]:
            await process.gone()
    if victim == "caller":
        assert await end_of(run) is not None, "its supervisor lived to tell"
    heard = (await recovered(place, finished))[name]
    story = f"seed {seed}: {victim} of an {mode} run killed at {instant}"
    done = Told("completed", "", "42")
    if victim == "caller" and mode == "detached":
        assert heard == done, story
    else:
        assert heard in (
            done,
            Told("interrupted", INTERRUPTED, ""),
            Told("interrupted", INTERRUPTED, "42"),
        ), story
    for process in place.driver.processes[before:]:
        await process.gone()


def _play(child: FakeProcess, chance: random.Random) -> None:
    """Give a child a whole life of orders at once; nobody waits for anything."""
    for number in range(STEPS):
        text = "x" * chance.choice([1, 100, 70_000])
        child.tell("tool", name="bash", arguments={"n": number}, result=text)
        if chance.random() < 0.2:
            child.tell("write", data="eyJ0eXBl")  # half a record
            child.tell("write", data="Cg==")
    child.tell("say", text="42")
    child.tell("settle")
    child.tell("exit", code=0)


async def _journal_reaches(run: RunDir, instant: int, caller: asyncio.subprocess.Process) -> None:
    """Return as soon as so many entries are there, or the run is over."""
    tail, seen = JournalTail(run), 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            while seen < instant and run.read_result() is None and caller.returncode is None:
                seen += sum(1 for _ in tail.new_entries())
                await asyncio.sleep(0)
    finally:
        tail.close()


def _kill_supervisor(run: RunDir) -> None:
    supervisor = run.read_meta().get("supervisor")
    if not isinstance(supervisor, dict):  # it has not come so far: nothing to kill
        return
    handle = None
    try:
        handle = os.pidfd_open(supervisor["pid"])
        if run.alive():  # so the number is still its own
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        if handle is not None:
            os.close(handle)
