"""Tasks in worktrees of their own: verified, collected, and nothing of the user's is touched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from tests.fakes.child_modes import takes_long
from tests.fakes.git_place import LINES, GitPlace, repository_of

from pi_subagents import Task
from pi_subagents.api import call_tool, delegate
from pi_subagents.errors import (
    ActsInsideSubagent,
    ChangesConflict,
    ChangesUnavailable,
    NoWorkspace,
)
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.work.changes import apply, diff, discard
from pi_subagents.service.fleet_actions import FleetActions
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes, take_changes, throw_away
from pi_subagents.store.retention import remove_finished
from pi_subagents.workspaces.changes import read_changes

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult

pytestmark = takes_long
MINUS = "\N{MINUS SIGN}"


@pytest.fixture
def git(place: Workplace) -> GitPlace:
    """The project of the place is a repository."""
    return repository_of(place.project)


def run_dir(place: Workplace, result: RunResult) -> Path:
    return place.project / ".pi" / "subagents" / "runs" / result.run_id


async def test_a_task_works_in_a_worktree_and_its_changes_are_in_the_result(
    place: Workplace, git: GitPlace
) -> None:
    git.write({"a.txt": "uncommitted\n", "new.txt": "untracked\n"})
    before, files = git.state(), git.files()
    work = place.delegate_by_api("task", workspace="worktree")
    child = await place.child("task")
    where = Path(child.cwd)
    assert where.parent.name == "trees"
    assert git.files(where) == {n: e for n, e in files.items() if not n.startswith(b".pi/")}
    (where / "a.txt").write_text("changed\nthere\n")
    await child.answer_and_exit("done")
    result = await work.result()
    assert (result.status, result.changes) == ("completed", "1 file changed, +2 \N{MINUS SIGN}1")
    short = result.run_id[:8]
    words = f"In its worktree: {result.changes} (subagents diff {short}, subagents apply {short})"
    assert result.notes == (words,)
    assert not where.exists()
    changes = read_changes(run_dir(place, result))
    assert changes is not None
    assert [file.path for file in changes.files] == ["a.txt"]
    assert git.state() == before
    assert files.keys() <= git.files().keys()
    assert (git.top / "a.txt").read_text() == "uncommitted\n"


async def test_its_environment_says_nothing_of_the_callers_repository(
    place: Workplace, git: GitPlace
) -> None:
    env = {**place.env, "GIT_DIR": str(git.top / ".git"), "GIT_AUTHOR_NAME": "Jane"}
    work = place.delegate_by_api("task", workspace="worktree", env=env)
    child = await place.child("task")
    assert {name for name in child.environment if name.startswith("GIT_")} == {"GIT_AUTHOR_NAME"}
    await child.answer_and_exit("done")
    assert (await work.result()).changes == "no files changed"


async def test_what_cannot_have_worktrees_refuses_the_whole_call(place: Workplace) -> None:
    with pytest.raises(NoWorkspace, match="it is in no git repository"):
        await delegate(["one", "two"], cwd=place.project, env=place.env, workspace="worktree")
    assert place.run_dirs() == []


async def test_auto_gives_worktrees_to_several_that_may_write(
    place: Workplace, git: GitPlace
) -> None:
    reader = Task("reader", "reader", tools=("read", "grep"))
    tasks = [Task("one", "one"), Task("two", "two"), reader]
    work = place.delegate_by_api(*tasks[1:], workspace="auto")
    where = {}
    for name in ("two", "reader"):
        child = await place.child(name)
        where[name] = Path(child.cwd)
        await child.answer_and_exit("done")
    await work.results()
    assert where == {"two": git.top, "reader": git.top}
    again = Task("another reader", "another reader", tools=("ls",))
    work = place.delegate_by_api(Task("three", "three"), tasks[0], again, workspace="auto")
    for name in ("three", "one", "another reader"):
        child = await place.child(name)
        where[name] = Path(child.cwd)
        await child.answer_and_exit("done")
    await work.results()
    assert {name: path.parent.name for name, path in where.items()} == {
        "three": "trees",
        "one": "trees",
        "two": git.top.parent.name,
        "reader": git.top.parent.name,
        "another reader": git.top.parent.name,
    }


async def test_a_task_says_itself_where_it_works(place: Workplace, git: GitPlace) -> None:
    task = Task("task", "task", workspace="shared")
    work = place.delegate_by_api(task, workspace="worktree")
    child = await place.child("task")
    assert Path(child.cwd) == git.top
    await child.answer_and_exit("done")
    assert (await work.result()).changes == ""


async def test_changes_of_several_are_taken_in_order_or_none(
    place: Workplace, git: GitPlace
) -> None:
    names = ("first", "second", "third")
    work = place.delegate_by_api(*names, workspace="worktree")
    for number, name in enumerate(names):
        child = await place.child(name)
        line = 5 if number == 2 else 5 + 20 * number
        text = LINES.replace(f"line {line}\n", f"by {name}\n")
        (Path(child.cwd) / "a.txt").write_text(text)
        await child.answer_and_exit("done")
    first, second, third = (result.run_id for result in await work.results())
    runs = Runs(place.project, place.env)
    seen = see_changes(runs, first, place.env)
    assert b"+by first" in seen.patch
    with pytest.raises(ChangesConflict) as refused:
        take_changes(runs, [first, second, third], place.env)
    assert refused.value.conflicts == ("a.txt, line 5: changed in the checkout too",)
    assert (git.top / "a.txt").read_text() == LINES
    take_changes(runs, [first, second], place.env)
    expected = LINES.replace("line 5\n", "by first\n").replace("line 25\n", "by second\n")
    assert (git.top / "a.txt").read_text() == expected
    throw_away(runs, third, place.env)
    with pytest.raises(ActsInsideSubagent):
        take_changes(runs, [third], {**place.env, "PI_SUBAGENTS_CHILD": "1"})


async def test_a_kept_worktree_stays(place: Workplace, git: GitPlace) -> None:
    work = place.delegate_by_api("task", workspace="worktree", keep_worktree=True)
    child = await place.child("task")
    where = Path(child.cwd)
    (where / "new.txt").write_text("n")
    await child.answer_and_exit("done")
    result = await work.result()
    assert f"Its worktree was kept: {where}" in result.notes
    assert (where / "new.txt").read_text() == "n"


async def test_removed_runs_take_their_changes_along(place: Workplace, git: GitPlace) -> None:
    work = place.delegate_by_api("task", workspace="worktree")
    child = await place.child("task")
    home = Path(child.cwd).parents[1]
    await child.answer_and_exit("done")
    result = await work.result()
    assert home.exists()
    assert remove_finished(Runs(place.project, place.env).store.run_dir(result.run_id))
    assert not home.exists()


async def test_a_stopped_task_keeps_its_changes(place: Workplace, git: GitPlace) -> None:
    before = git.state()
    work = place.delegate_by_api("task", workspace="worktree")
    child = await place.child("task")
    (Path(child.cwd) / "a.txt").write_text("half\n")
    work.stop()
    result = await work.result()
    assert (result.status, result.changes) == ("aborted", "1 file changed, +1 \N{MINUS SIGN}40")
    assert git.state() == before


async def test_the_tool_and_the_verbs_see_take_and_throw_away(
    place: Workplace, git: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = place.delegate_by_api("one", "two", workspace="worktree")
    for name in ("one", "two"):
        child = await place.child(name)
        (Path(child.cwd) / f"{name}.txt").write_text("new\n")
        await child.answer_and_exit("done")
    one, two = (result.run_id for result in await work.results())
    parameters = {"runIds": [one], "check": True}
    tried = await call_tool("apply_subagent_changes", parameters, cwd=place.project, env=place.env)
    details = tried["details"]
    assert isinstance(details, dict)
    assert (details["status"], details["files"]) == ("fits", [{"path": "one.txt", "kind": "A"}])
    refused = await call_tool("apply_subagent_changes", {}, cwd=place.project, env=place.env)
    assert refused["isError"]
    monkeypatch.chdir(place.project)
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)

    def said(command: object, *arguments: str) -> str:
        done = CliRunner().invoke(command, arguments, obj=Console())  # type: ignore[arg-type]  # a click command
        assert done.exception is None, done.output
        return done.output

    assert "+new" in said(diff, one)
    assert (
        said(diff, one, "--stat")
        == "A one.txt  +1 \N{MINUS SIGN}0\n1 file changed, +1 \N{MINUS SIGN}0\n"
    )
    assert said(apply, one) == "Applied: 1 file changed, +1 \N{MINUS SIGN}0\n  A one.txt\n"
    assert said(discard, two) == f"The changes of run {two[:8]} are discarded.\n"
    assert (git.top / "one.txt").read_text() == "new\n"
    assert not (git.top / "two.txt").exists()


async def test_with_passed_only_checked_changes_are_taken_and_the_rest_is_named(
    place: Workplace, git: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Task("good", "good", check="true")
    bad = Task("bad", "bad", check="false", check_rounds=0)
    tasks = place.delegate_by_api(good, bad, "claimed", workspace="worktree")
    for name in ("good", "bad", "claimed"):
        child = await place.child(name)
        (Path(child.cwd) / f"{name}.txt").write_text("new\n")
        await child.answer_and_exit("done")
    ids = {result.name: result.run_id for result in await tasks.results()}
    monkeypatch.chdir(place.project)
    for name, value in place.env.items():
        monkeypatch.setenv(name, value)
    refused = CliRunner().invoke(apply, [ids["bad"], ids["claimed"], "--passed"], obj=Console())
    assert isinstance(refused.exception, ChangesUnavailable)
    assert str(refused.exception).endswith(
        "no check of ours passed them (--passed): subagents apply takes them without it."
    )
    parameters = {"runIds": list(ids.values()), "passed": True, "check": True}
    tried = await call_tool("apply_subagent_changes", parameters, cwd=place.project, env=place.env)
    left_out = [
        f"Left out: the changes of run {ids[name][:8]} (1 file changed, +1 {MINUS}0, {work})"
        for name, work in (("bad", "check failed"), ("claimed", "claimed, not checked"))
    ]
    assert isinstance(tried["details"], dict)
    assert tried["details"]["warnings"] == left_out
    done = CliRunner().invoke(apply, [*ids.values(), "--passed"], obj=Console())
    assert done.stderr.splitlines() == left_out
    assert done.stdout == f"Applied: 1 file changed, +1 {MINUS}0\n  A good.txt\n"
    assert {name: (git.top / f"{name}.txt").exists() for name in ids} == {
        "good": True,
        "bad": False,
        "claimed": False,
    }


async def test_what_watch_shows_takes_and_throws_away(place: Workplace, git: GitPlace) -> None:
    work = place.delegate_by_api("one", "two", workspace="worktree")
    for name in ("one", "two"):
        child = await place.child(name)
        (Path(child.cwd) / f"{name}.txt").write_text("new\n")
        await child.answer_and_exit("done")
    one, two = (result.run_id for result in await work.results())
    actions = FleetActions(place.project, place.env, print)
    shown = actions.changes(one)
    first, second, *rest = shown.text.split("\n")
    assert (first, second) == (
        "1 file changed, +1 \N{MINUS SIGN}0, claimed, not checked",
        "A one.txt  +1 \N{MINUS SIGN}0",
    )
    assert "+new" in rest
    assert actions.apply(one).text == "Applied: 1 file changed, +1 \N{MINUS SIGN}0\n  A one.txt"
    assert actions.apply(one).bad
    assert actions.discard(two).text == f"The changes of run {two[:8]} are discarded."
    assert actions.changes(two).bad
    inside = FleetActions(place.project, {**place.env, "PI_SUBAGENTS_CHILD": "1"}, print)
    assert inside.apply(two).bad
    assert inside.discard(two).bad


async def test_in_a_shared_checkout_both_results_name_a_file_that_two_wrote(
    place: Workplace, git: GitPlace
) -> None:
    work = place.delegate_by_api("one", "two", "three")
    children = {name: await place.child(name) for name in ("one", "two", "three")}
    await children["one"].tool("write", {"path": "sub/b.txt"})
    await children["one"].tool("edit", {"path": "own.txt"})
    await children["two"].tool("edit", {"path": str(git.top / "sub" / "b.txt")})
    await children["two"].tool("read", {"path": "a.txt"})
    await children["three"].tool("write", {"path": "a.txt"})
    for child in children.values():
        await child.answer_and_exit("done")
    results = await work.results()
    also = "Also written by {}, in the same checkout: sub/b.txt"
    assert [result.notes for result in results] == [
        (also.format("two"),),
        (also.format("one"),),
        (),
    ]
    kept = [place.run_dir(child).read_result() for child in children.values()]
    assert [each and each.notes for each in kept] == [result.notes for result in results]
