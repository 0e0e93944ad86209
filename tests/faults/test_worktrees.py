"""kill -9 at each step of a worktree: what was changed is saved, and nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import cases
from tests.fakes.git_place import repository_of
from tests.fakes.processes import has_ended
from tests.faults.aftermath import output_of, program
from tests.faults.crashing import POINT_VARIABLE, WHO_VARIABLE

from pi_subagents import Task
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import take_changes
from pi_subagents.system import crash_points as at
from pi_subagents.system.identity import identity_from_json

if TYPE_CHECKING:
    from tests.fakes.git_place import GitPlace
    from tests.fakes.workplace import Workplace

BEFORE_CHILD = (at.WORKTREE_ADDED, at.WORKTREE_MADE)
AFTER_ANSWER = (
    at.CHILD_ENDED,
    at.PATCH_WRITTEN,
    at.CHANGES_SAVED,
    at.FILES_REMOVED,
    at.WORKTREE_REMOVED,
    at.BEFORE_RESULT,
)
NOTHING = {at.WORKTREE_ADDED: "", at.WORKTREE_MADE: "no files changed"}
CHANGED = "1 file changed, +1 \N{MINUS SIGN}40"


@pytest.fixture
def git(place: Workplace) -> GitPlace:
    (place.project / ".pi").mkdir(exist_ok=True)
    settings = {"subagents": {"workspace": "worktree"}}
    (place.project / ".pi" / "settings.json").write_text(json.dumps(settings))
    return repository_of(place.project)


def left(place: Workplace) -> list[Path]:
    return list((place.home / ".local/share/pi-subagents/workspaces").glob("*/trees/*"))


@pytest.mark.parametrize(
    ("point", "mode"),
    cases([*BEFORE_CHILD, at.TOOL_CALL, *AFTER_ANSWER], ["attached", "detached"]),
)
async def test_kill_9_of_the_supervisor_loses_no_change_and_leaves_no_worktree(
    place: Workplace, git: GitPlace, point: str, mode: str
) -> None:
    before = git.state()
    crash = {POINT_VARIABLE: point}
    async with program(place, "caller.py", mode, str(place.project), "task", env=crash) as caller:
        if point not in BEFORE_CHILD:
            child = await place.child("task")
            (Path(child.cwd) / "a.txt").write_text("changed\n")
            if point == at.TOOL_CALL:
                child.tell("tool", name="bash", arguments={"command": "make"})
            else:
                await child.answer_and_exit("42")
        await output_of(caller)
    runs = Runs(place.project, place.env)
    runs.recover(thorough=True)
    (run,) = place.run_dirs()
    result = run.read_result()
    assert result is not None
    assert result.status == "interrupted"
    assert result.changes == NOTHING.get(point, CHANGED)
    assert left(place) == []
    assert git.state() == before
    if point not in BEFORE_CHILD:
        take_changes(runs, [result.run_id], place.env)
        assert (git.top / "a.txt").read_text() == "changed\n"


@pytest.mark.parametrize(
    "point", [at.WORKTREE_ADDED, at.TOOL_CALL, at.PATCH_WRITTEN, at.FILES_REMOVED]
)
async def test_kill_9_of_the_caller_loses_no_change_and_leaves_no_worktree(
    place: Workplace, git: GitPlace, point: str
) -> None:
    before = git.state()
    crash = {POINT_VARIABLE: point, WHO_VARIABLE: "parent"}
    arguments = ("attached", str(place.project), "task")
    async with program(place, "caller.py", *arguments, env=crash) as caller:
        if point != at.WORKTREE_ADDED:
            child = await place.child("task")
            (Path(child.cwd) / "a.txt").write_text("changed\n")
            if point == at.TOOL_CALL:
                child.tell("tool", name="bash", arguments={"command": "make"})
            else:
                await child.answer_and_exit("42")
        await caller.wait()
    (run,) = place.run_dirs()
    run.desk.wait_for_end(30)
    result = run.read_result()
    assert result is not None
    assert result.changes == ("no files changed" if point == at.WORKTREE_ADDED else CHANGED)
    assert left(place) == []
    assert git.state() == before


async def test_kill_9_of_the_caller_before_anything_was_planned_leaves_the_repository_alone(
    place: Workplace, git: GitPlace
) -> None:
    before = git.state()
    crash = {POINT_VARIABLE: at.SNAPSHOT_TAKEN}
    arguments = ("attached", str(place.project), "task")
    async with program(place, "caller.py", *arguments, env=crash) as caller:
        assert await caller.wait() == -9
    assert place.run_dirs() == []
    assert git.state() == before


@pytest.mark.parametrize("who", ["self", "parent"])
async def test_kill_9_after_the_check_loses_no_change_and_leaves_no_worktree(
    place: Workplace, git: GitPlace, who: str
) -> None:
    profile = place.home / ".pi" / "agent" / "agent-profiles" / "checker.md"
    profile.parent.mkdir(parents=True, exist_ok=True)
    profile.write_text("---\nname: checker\ncheck: sh -c 'setsid sleep 600 & test -e a.txt'\n---\n")
    before = git.state()
    crash = {POINT_VARIABLE: at.CHECKED, WHO_VARIABLE: who, "PROFILE": "checker"}
    arguments = ("attached", str(place.project), "task")
    async with program(place, "caller.py", *arguments, env=crash) as caller:
        child = await place.child("task")
        (Path(child.cwd) / "a.txt").write_text("changed\n")
        await child.say("42")
        child.tell("settle")
        await caller.wait()
    (run,) = place.run_dirs()
    runs = Runs(place.project, place.env)
    if who == "self":
        runs.recover(thorough=True)
    else:
        run.desk.wait_for_end(30)
    result = run.read_result()
    assert result is not None
    assert result.changes == CHANGED
    assert left(place) == []
    assert git.state() == before


@pytest.mark.parametrize("who", ["supervisor", "caller"])
async def test_kill_9_while_a_worktree_is_made_ready_leaves_nothing_of_it(
    place: Workplace, git: GitPlace, who: str
) -> None:
    pipe = place.home / "began"
    os.mkfifo(pipe)
    place.settings(workspace_setup=f"sh -c 'setsid sleep 600 & echo $$ $! > {pipe}; wait'")
    before = git.state()
    arguments = ("attached", str(place.project), "task")
    async with program(place, "caller.py", *arguments) as caller:
        started = [int(pid) for pid in (await asyncio.to_thread(pipe.read_text)).split()]
        (run,) = place.run_dirs()
        supervisor = identity_from_json(run.desk.read_supervisor())
        assert supervisor is not None
        assert len(left(place)) == 1
        os.kill(supervisor.pid if who == "supervisor" else caller.pid, signal.SIGKILL)
        await caller.wait()
    run.desk.wait_for_end(30)
    Runs(place.project, place.env).recover(thorough=True)
    result = run.read_result()
    assert result is not None
    assert (result.status, result.changes) == ("interrupted", "no files changed")
    assert place.driver.children == []
    assert all(map(has_ended, started))
    assert left(place) == []
    assert git.state() == before


@pytest.mark.parametrize("when", ["at_first", "at_work", "in_check"])
async def test_kill_9_of_the_child_loses_no_change_and_leaves_no_worktree(
    place: Workplace, git: GitPlace, when: str
) -> None:
    before = git.state()
    pipe = place.home / "began"
    os.mkfifo(pipe)
    work = place.delegate_by_api(Task("task", "task", check=f"sh -c 'echo > {pipe}; sleep 600'"))
    child = await place.child("task")
    if when != "at_first":
        (Path(child.cwd) / "a.txt").write_text("changed\n")
    if when == "in_check":
        await child.say("42")
        child.tell("settle")
        await asyncio.to_thread(pipe.read_text)
    os.kill(child.pid, signal.SIGKILL)
    if when == "in_check":
        work.stop()
    result = await work.result()
    assert result.status == "failed" if when != "in_check" else result.status != "completed"
    assert result.changes == ("no files changed" if when == "at_first" else CHANGED)
    assert left(place) == []
    assert git.state() == before
