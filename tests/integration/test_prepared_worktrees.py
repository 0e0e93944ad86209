"""Worktrees that share ignored things, are made ready by a command, and go on with a session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.git_place import GitPlace, repository_of

from pi_subagents import Task
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes, take_changes, throw_away

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = takes_long
MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def git(place: Workplace) -> GitPlace:
    """A repository that ignores a directory, a file in it, and a word about both."""
    git = repository_of(place.project)
    git.write({".gitignore": ".pi/\nmodules/\ncache\n"})
    git.commit("ignored")
    git.write({"modules/m.js": "m\n", "cache": "c\n"})
    return git


def of_project(place: Workplace, **settings: object) -> None:
    path = place.project / ".pi" / "settings.json"
    path.write_text(json.dumps({"subagents": settings}))


async def test_ignored_things_are_linked_and_are_no_part_of_the_patch(
    place: Workplace, git: GitPlace
) -> None:
    of_project(place, workspace_links=["modules/", "cache", "not-there"])
    work = place.delegate_by_api("task", workspace="worktree")
    child = await place.child("task")
    where = Path(child.cwd)
    assert {name: (where / name).readlink() for name in ("modules", "cache")} == {
        "modules": git.top / "modules",
        "cache": git.top / "cache",
    }
    (where / "new.txt").write_text("new\n")
    await child.answer_and_exit("done")
    result = await work.result()
    assert result.changes == f"1 file changed, +1 {MINUS}0"
    journal = place.run_dir(child).events.read_text()
    assert "Linked into the worktree, and shared with the checkout: modules, cache" in journal
    assert (git.top / "modules" / "m.js").read_text() == "m\n"
    assert (git.top / "cache").read_text() == "c\n"


async def test_what_git_does_not_ignore_is_not_linked_and_no_child_is_started(
    place: Workplace, git: GitPlace
) -> None:
    of_project(place, workspace_links=["a.txt", "sub"])
    git.write({"sub/only-here.txt": "untracked\n"})
    work = place.delegate_by_api("one", workspace="worktree")
    child = await place.child("one")  # both are in its worktree anyway
    await child.answer_and_exit("done")
    assert (await work.result()).completed
    git.write({"empty/.keep-not": ""})
    (git.top / "empty" / ".keep-not").unlink()
    of_project(place, workspace_links=["empty"])
    result = await place.delegate_by_api("two", workspace="worktree").result()
    assert result.status == "failed"
    assert result.error_message == (
        "Its worktree could not be made: workspace_links names empty, which git does not ignore. "
        "Only what is ignored is linked: all else the worktree has itself."
    )
    assert git.git("worktree", "list").count(b"\n") == 1


async def test_a_command_makes_it_ready_with_its_time_and_output_in_the_journal(
    place: Workplace, git: GitPlace
) -> None:
    place.settings(workspace_setup="sh -c 'echo made > cache; echo what it said'")
    work = place.delegate_by_api("task", workspace="worktree")
    child = await place.child("task")
    assert (Path(child.cwd) / "cache").read_text() == "made\n"
    await child.answer_and_exit("done")
    assert (await work.result()).changes == "no files changed"
    journal = place.run_dir(child).events.read_text()
    assert "finished after 0." in journal
    assert "(exit code 0):\\nwhat it said" in journal


async def test_where_that_command_fails_no_child_is_started(
    place: Workplace, git: GitPlace
) -> None:
    before = git.state()
    place.settings(workspace_setup="sh -c 'echo no such package; exit 4'")
    result = await place.delegate_by_api("task", workspace="worktree").result()
    assert result.status == "failed"
    why = result.error_message
    assert why.startswith("Its worktree could not be made: Workspace setup: sh -c ")
    assert why.endswith("s (exit code 4):\nno such package")
    assert git.state() == before


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_command_of_a_project_runs_only_where_that_is_trusted(
    place: Workplace, git: GitPlace, *, trusted: bool
) -> None:
    of_project(place, workspace_setup="sh -c 'echo made > cache'")
    said: list[str] = []
    work = place.delegate_by_api(
        "task", workspace="worktree", trust_project=trusted, on_notice=said.append
    )
    child = await place.child("task")
    assert (Path(child.cwd) / "cache").exists() is trusted
    await child.answer_and_exit("done")
    await work.result()
    assert any("workspace_setup of the project's settings is left out" in n for n in said) is (
        not trusted
    )


async def test_a_session_goes_on_in_its_worktree_until_its_changes_are_taken(
    place: Workplace, git: GitPlace
) -> None:
    before = git.state()
    runs = Runs(place.project, place.env)

    async def worked(name: str, line: str, session: str | None) -> tuple[Path, str, str]:
        index = len(place.driver.children)
        work = place.delegate_by_api(
            Task("task", name, resume=session), workspace=None if session else "worktree"
        )
        child = await place.driver.next_child(index)
        with (Path(child.cwd) / "a.txt").open("a") as file:
            file.write(line)
        await child.answer_and_exit("done")
        result = await work.result()
        assert result.completed, result
        return Path(child.cwd), result.run_id, result.session_id

    first, one, session = await worked("one", "by one\n", None)
    again, two, _ = await worked("two", "by two\n", session)
    assert again == first  # so that what the session says of paths stays true
    assert not first.exists()
    assert git.state() == before
    patch = see_changes(runs, two, place.env).patch
    assert patch.endswith(b"+by one\n+by two\n")
    take_changes(runs, [two], place.env)
    text = (git.top / "a.txt").read_text()
    assert text.endswith("by one\nby two\n")
    other, three, _ = await worked("three", "by three\n", session)
    assert other != first
    assert see_changes(runs, three, place.env).patch.endswith(b" by two\n+by three\n")
    throw_away(runs, three, place.env)
    _, four, _ = await worked("four", "by four\n", session)
    assert see_changes(runs, four, place.env).patch.endswith(b" by two\n+by four\n")
    assert git.git("worktree", "list").count(b"\n") == 1
    assert see_changes(runs, one, place.env).changes.files
