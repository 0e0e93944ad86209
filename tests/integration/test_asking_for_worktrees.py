"""A worktree by profile, by MCP and with a session: where its child is, what it is told, what it has."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.git_place import GitPlace, repository_of
from tests.fakes.mcp_host import in_process, value_of
from tests.fakes.profile_home import write_profile

from pi_subagents import FileSpec, Task
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes, take_changes
from pi_subagents.system.identity import identity_from_json

if TYPE_CHECKING:
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = takes_long
NAME = "isolated"
MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def git(place: Workplace) -> GitPlace:
    return repository_of(place.project)


def worktrees(place: Workplace) -> list[Path]:
    return list((place.home / ".local/share/pi-subagents/workspaces").glob("*/trees/*"))


def isolated(place: Workplace) -> None:
    directory = place.home / ".pi" / "agent" / "agent-profiles"
    directory.mkdir(parents=True, exist_ok=True)
    write_profile(directory, NAME, "workspace: worktree")
    invalidate_profiles_cache()


async def test_a_profile_that_says_worktree_gives_its_tasks_one(
    place: Workplace, git: GitPlace
) -> None:
    isolated(place)
    work = place.delegate_by_api(Task("task", "task", cwd=str(git.top / "sub")), profile=NAME)
    child = await place.child("task")
    assert [Path(child.cwd)] == [path / "sub" for path in worktrees(place)]
    await child.answer_and_exit("done")
    assert (await work.result()).changes == "no files changed"


async def test_a_host_gives_a_task_a_worktree_by_name(place: Workplace, git: GitPlace) -> None:
    async with in_process(place) as client:
        asked = {"tasks": [{"name": "task", "prompt": "task", "workspace": "worktree"}]}
        call = asyncio.create_task(client.call_tool("delegate_to_subagents", asked))
        child = await place.child("task")
        assert [Path(child.cwd)] == worktrees(place)
        (Path(child.cwd) / "new.txt").write_text("new\n")
        await child.answer_and_exit("done")
        (result,) = value_of(await call)["results"]
    assert f"1 file changed, +1 {MINUS}0" in str(result)


@pytest.mark.parametrize("trusted", [False, True])
async def test_trust_and_files_are_those_of_the_callers_directory(
    place: Workplace, git: GitPlace, *, trusted: bool
) -> None:
    git.write({"sub/notes.log": "ignored\n", ".git/info/exclude": "*.log\n"})
    task = Task("task", "task", files=(FileSpec("notes.log"),), cwd=str(git.top / "sub"))
    work = place.delegate_by_api(task, workspace="worktree", trust_project=trusted)
    child = await place.driver.next_child(0)
    assert not (Path(child.cwd) / "notes.log").exists()
    assert ("--approve" in child.arguments) is trusted
    assert ("--no-approve" in child.arguments) is not trusted
    assert "ignored\n" in place.run_dir(child).prompt.read_text()
    await child.answer_and_exit("done")
    await work.result()


async def worked(
    place: Workplace, line: str, goes_on: RunResult | None = None, **more: Any
) -> tuple[FakeProcess, RunResult]:
    """Let a sub-agent write a line; return it and how its run ended."""
    index = len(place.driver.children)
    fork = more.pop("fork", False)
    task = Task("task", line, resume=goes_on.session_id if goes_on else None, fork=fork)
    work = place.delegate_by_api(task, workspace=None if goes_on else "worktree", **more)
    child = await place.driver.next_child(index)
    with (Path(child.cwd) / "a.txt").open("a") as file:
        file.write(line)
    await child.answer_and_exit("done")
    return child, await work.result()


def line_of(child: FakeProcess, git: GitPlace, state: str) -> str:
    return (
        f"\n\n(You work in {child.cwd}, a git worktree of your own: a copy of {git.top} {state}. "
        "Change files only there; your changes are collected when you are done.)"
    )


async def test_its_prompt_says_where_it_works_and_whether_its_changes_are_there(
    place: Workplace, git: GitPlace
) -> None:
    child, first = await worked(place, "one\n")
    prompt = place.run_dir(child).prompt.read_text()
    assert prompt.endswith(line_of(child, git, "as it is now"))
    child, second = await worked(place, "two\n", first)
    prompt = place.run_dir(child).prompt.read_text()
    assert prompt.endswith(line_of(child, git, "with your changes in it"))
    take_changes(Runs(place.project, place.env), [second.run_id], place.env)
    child, _ = await worked(place, "three\n", second)
    prompt = place.run_dir(child).prompt.read_text()
    assert prompt.endswith(line_of(child, git, "as it is now"))


async def test_a_fork_has_the_changes_that_wait_in_a_worktree_of_its_own(
    place: Workplace, git: GitPlace
) -> None:
    before = git.state()
    runs = Runs(place.project, place.env)
    child, first = await worked(place, "one\n")
    forked, second = await worked(place, "two\n", first, fork=True)
    assert second.session_id != first.session_id
    assert forked.cwd != child.cwd
    again, third = await worked(place, "three\n", first)
    assert again.cwd == child.cwd
    patches = [see_changes(runs, each.run_id, place.env).patch for each in (second, third)]
    assert [patch.rpartition(b" line 40\n")[2] for patch in patches] == [
        b"+one\n+two\n",
        b"+one\n+three\n",
    ]
    assert git.state() == before


async def test_a_session_goes_on_in_its_kept_worktree_as_somebody_left_it(
    place: Workplace, git: GitPlace
) -> None:
    child, first = await worked(place, "one\n", keep_worktree=True)
    with (Path(child.cwd) / "a.txt").open("a") as file:
        file.write("by hand\n")
    again, second = await worked(place, "two\n", first)
    assert again.cwd == child.cwd
    patch = see_changes(Runs(place.project, place.env), second.run_id, place.env).patch
    assert patch.endswith(b" line 40\n+one\n+by hand\n+two\n")
    assert worktrees(place) == []


@pytest.mark.parametrize("why", ["asked", "large"])
async def test_a_worktree_that_is_to_stay_stays_though_its_supervisor_is_killed(
    place: Workplace, git: GitPlace, why: str
) -> None:
    place.settings(workspace_max_megabytes=1)
    work = place.delegate_by_api("task", workspace="worktree", keep_worktree=why == "asked")
    child = await place.child("task")
    new = Path(child.cwd) / "new.bin"
    new.write_bytes(os.urandom(2 * 1024 * 1024) if why == "large" else b"\0")
    supervisor = identity_from_json(place.run_dir(child).desk.read_supervisor())
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.changes) == ("interrupted", f"1 file changed, +0 {MINUS}0")
    words = {
        "asked": "Its worktree was kept: ",
        "large": (
            "Its worktree was kept, since its patch would be larger than 1 MB "
            "(workspace_max_megabytes): "
        ),
    }
    assert result.notes[-1] == f"{words[why]}{child.cwd}"
    assert new.exists()


async def test_a_worktree_that_cannot_be_made_is_the_reason_that_is_said(
    place: Workplace, git: GitPlace
) -> None:
    place.settings(workspace_setup="false")
    (result,) = await place.delegate_by_api("task", workspace="worktree").results()
    assert result.error_message.startswith(
        "Its worktree could not be made: Workspace setup: false failed after "
    )
    assert result.notes == ("In its worktree: no files changed",)
