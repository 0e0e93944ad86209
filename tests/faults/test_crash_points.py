"""
kill -9 at every named instant, of the caller and of the supervisor, attached and detached.

Afterwards: nobody of an attached tree is left, what was finished stays as it is, everything else is
told as interrupted, and whoever looks next, from anywhere, agrees.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import cases, takes_long
from tests.fakes.driver import PATIENCE_S
from tests.fakes.forked import servers_of
from tests.fakes.processes import PROC, command_lines
from tests.faults.aftermath import (
    INTERRUPTED,
    Told,
    end_of,
    output_of,
    program,
    recovered,
    remains_in,
)
from tests.faults.crashing import POINT_VARIABLE, WHO_VARIABLE
from tests.faults.records import make_run

from pi_subagents.service.runs import Runs
from pi_subagents.system import crash_points as at

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = takes_long
FINISHED = Told("completed", "", "finished answer")
LOST = Told("interrupted", INTERRUPTED, "")
LOST_WITH_ANSWER = Told("interrupted", INTERRUPTED, "42")
DONE = Told("completed", "", "42")

# What becomes of the run, by who dies and where; detached runs do not need their caller.
BEFORE_ANSWER = (at.LOCKED, at.CHILD_SPAWNED, at.FIRST_EVENT, at.MID_LINE, at.TOOL_CALL)
AFTER_ANSWER = (at.SETTLED, at.CHILD_ENDED, at.BEFORE_RESULT)
SUPERVISOR_DIES = {
    **dict.fromkeys(BEFORE_ANSWER, LOST),
    **dict.fromkeys(AFTER_ANSWER, LOST_WITH_ANSWER),
    at.AFTER_RESULT: DONE,
}
CALLER_DIES = {
    **dict.fromkeys(BEFORE_ANSWER, LOST),
    **dict.fromkeys((*AFTER_ANSWER, at.AFTER_RESULT), DONE),
}
CALLERS_OWN: dict[str, Told | None] = {
    at.DIR_MADE: None,  # it was no run yet
    at.META_WRITTEN: None,
    at.PLANNED: LOST,
    at.INDEXED: LOST,
    at.SUPERVISOR_STARTED: LOST,
    at.RESULT_READ: DONE,
    at.BEFORE_INDEX_UPDATE: DONE,
}
FORK_SERVERS_OWN = (at.FORKED, at.FORK_ANSWERED)
# Before there is a supervisor nothing can be detached from anything.
DETACHED_TOO = (at.SUPERVISOR_STARTED, at.RESULT_READ, at.BEFORE_INDEX_UPDATE)


def test_every_crash_point_has_its_cases() -> None:
    constants = {
        value
        for name, value in vars(at).items()
        if re.fullmatch(r"[A-Z_]+", name)
        and not name.endswith("_VARIABLE")
        and isinstance(value, str)
    }
    of_worktrees = {
        at.SNAPSHOT_TAKEN, at.WORKTREE_ADDED, at.WORKTREE_MADE, at.CHECKED, at.PATCH_WRITTEN,
        at.CHANGES_SAVED, at.FILES_REMOVED, at.WORKTREE_REMOVED,
    }  # fmt: skip  # test_worktrees.py
    assert constants == {*CALLERS_OWN, *SUPERVISOR_DIES, *of_worktrees, *FORK_SERVERS_OWN}
    assert tuple(SUPERVISOR_DIES) == tuple(CALLER_DIES)


async def up_to(point: str, child: FakeProcess) -> None:
    """Let a child do what brings its supervisor to a point; then it hangs."""
    if point == at.FIRST_EVENT:
        child.tell("begin")
    elif point == at.MID_LINE:
        child.tell("write", data="eyJ0eXBl")  # half a record
    elif point == at.TOOL_CALL:
        child.tell("tool", name="bash", arguments={"command": "make"})
    else:
        child.tell("say", text="42")
        child.tell("settle")
        if point != at.SETTLED:
            child.tell("exit", code=0)


async def all_gone(processes: list[FakeProcess]) -> None:
    for process in processes:
        await process.gone()


@pytest.mark.parametrize(("point", "mode"), cases(SUPERVISOR_DIES, ["attached", "detached"]))
async def test_kill_9_of_the_supervisor_is_told_and_nobody_is_left(
    place: Workplace, point: str, mode: str
) -> None:
    finished = make_run(Runs(place.project, place.env), "finished")
    crash = {POINT_VARIABLE: point}
    async with program(place, "caller.py", mode, str(place.project), "task", env=crash) as caller:
        tree: list[FakeProcess] = []
        if point not in (at.LOCKED, at.CHILD_SPAWNED):  # afterwards there is a child to talk to
            child = await place.child("task")
            await child.fork_setsid()
            grandchild = await place.driver.grandchild()
            tree = [child, grandchild]
            await up_to(point, child)
        assert (await output_of(caller)).count("\n") == 1
        assert caller.returncode == 0
    if mode == "attached":  # its caller noticed
        await all_gone(tree)
    elif tree and point in (*BEFORE_ANSWER, at.SETTLED):
        await tree[1].echo()  # no signal reaches this one: the next look has to find it
    assert await recovered(place, finished) == {
        "finished": FINISHED,
        "task": SUPERVISOR_DIES[point],
    }
    await all_gone(tree)


@pytest.mark.parametrize(("point", "mode"), cases(SUPERVISOR_DIES, ["detached", "attached"]))
async def test_kill_9_of_the_caller_ends_attached_runs_and_leaves_detached_ones_alone(
    place: Workplace, point: str, mode: str
) -> None:
    finished = make_run(Runs(place.project, place.env), "finished")
    crash = {POINT_VARIABLE: point, WHO_VARIABLE: "parent"}
    async with program(place, "caller.py", mode, str(place.project), "task", env=crash) as caller:
        early = point in (at.LOCKED, at.CHILD_SPAWNED)
        if not early:
            child = await place.child("task")
            await child.fork_setsid()
            await place.driver.grandchild()
            await up_to(point, child)
        async with asyncio.timeout(PATIENCE_S):
            assert await caller.wait() == -9
    if mode == "detached":
        child = await place.child("task")
        if point in BEFORE_ANSWER:
            look = Runs(place.project, place.env)
            assert look.recover() == [], "it lives"
            assert look.find(child.run_id).active
            await child.echo()
            await child.line(b"")
            await child.say("42")
            await child.settle()
        if point in (*BEFORE_ANSWER, at.SETTLED):
            child.tell("exit", code=0)
    await all_gone(place.driver.processes)
    for run in place.run_dirs():
        assert await end_of(run) is not None
    expected = DONE if mode == "detached" else CALLER_DIES[point]
    assert await recovered(place, finished) == {"finished": FINISHED, "task": expected}


@pytest.mark.parametrize(
    ("point", "mode"),
    [(point, "attached") for point in CALLERS_OWN]
    + [(point, "detached") for point in DETACHED_TOO],
)
async def test_kill_9_of_the_caller_at_its_own_points_loses_nothing(
    place: Workplace, point: str, mode: str
) -> None:
    finished = make_run(Runs(place.project, place.env), "finished")
    crash = {POINT_VARIABLE: point}
    async with program(place, "caller.py", mode, str(place.project), "task", env=crash) as caller:
        expected = CALLERS_OWN[point]
        if point == at.SUPERVISOR_STARTED and mode == "detached":
            expected = DONE
        if expected == DONE:
            await (await place.child("task")).answer_and_exit("42")
        async with asyncio.timeout(PATIENCE_S):
            assert await caller.wait() == -9
    await all_gone(place.driver.processes)
    for run in place.run_dirs():
        await end_of(run)
    runs = {"finished": FINISHED} | ({"task": expected} if expected else {})
    assert await recovered(place, finished) == runs
    remains = remains_in(place)
    assert len(remains) == (expected is None)
    for path in remains:  # nobody is at it any more once a minute has passed
        os.utime(path, (1_700_000_000, 1_700_000_000))
    Runs(place.project, place.env).finish_removals()
    assert remains_in(place) == []


@pytest.mark.parametrize("point", FORK_SERVERS_OWN)
async def test_kill_9_of_the_fork_server_costs_nothing_but_its_speed(
    place: Workplace, point: str
) -> None:
    finished = make_run(Runs(place.project, place.env), "finished")
    crash = {POINT_VARIABLE: point}
    async with program(
        place, "caller.py", "attached", str(place.project), "a", "b", env=crash
    ) as caller:
        assert caller.pid is not None
        for name in "ab":
            child = await place.child(name)
            assert servers_of(caller.pid) == []
            await child.answer_and_exit("42")
        assert (await output_of(caller)).count("|completed|") == 2
    await all_gone(place.driver.processes)
    assert supervisors_in(place) == []
    assert await recovered(place, finished) == {"finished": FINISHED, "a": DONE, "b": DONE}


def supervisors_in(place: Workplace) -> list[int]:
    """Return the supervisors whose environment is that of the place, forked ones included."""
    ours = f"HOME={place.home}".encode()
    found = []
    for pid, line in command_lines().items():
        with suppress(OSError):
            if b"supervisor.main" in line and ours in (PROC / str(pid) / "environ").read_bytes():
                found.append(pid)
    return found


async def test_a_tree_that_ignores_every_polite_signal_is_gone_in_seven_seconds(
    place: Workplace,
) -> None:
    arguments = ("attached", str(place.project), "task")
    async with program(place, "caller.py", *arguments) as caller:
        child = await place.child("task")
        await child.do("ignore_term")
        await child.fork_setsid()
        grandchild = await place.driver.grandchild()
        caller.kill()
        await all_gone([child, grandchild])
    (run,) = place.run_dirs()
    result = await end_of(run)
    assert result is not None
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)
    assert result.signal_name == "SIGKILL"
