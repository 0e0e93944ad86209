"""A worktree is the snapshot's, is proved to be, and nothing is left of it."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.fakes.git_place import GitPlace, dirty

from pi_subagents.errors import GitMissing, WorkspaceNotMade
from pi_subagents.workspaces.git import LOCAL_VARIABLES, version_of, without_local_variables
from pi_subagents.workspaces.repository import find_repository
from pi_subagents.workspaces.worktree import (
    Worktree,
    make_worktree,
    remove_worktree,
    verify_worktree,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOOKS = ["post-checkout", "pre-commit", "post-commit", "reference-transaction", "post-index-change"]


def test_after_a_run_nothing_of_the_users_has_changed(place: GitPlace) -> None:
    dirty(place)
    before = place.state()
    place.done({"a.txt": "x\n", "new.txt": "y\n"})
    assert place.state() == before


def test_eight_are_made_of_one_snapshot_at_once(place: GitPlace) -> None:
    dirty(place)
    before, snapshot = place.state(), place.snapshot()
    with ThreadPoolExecutor(8) as threads:
        worktrees = list(threads.map(lambda _: place.worktree(snapshot), range(8)))
    trees = sorted((place.root / "data/workspaces").glob("*/trees/*"))
    assert trees == sorted(each.path for each in worktrees)
    for each in worktrees:
        verify_worktree(each, each.cwd, place.env)
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(lambda each: remove_worktree(each, place.env), worktrees))
    assert place.state() == before


def test_no_hook_and_no_program_of_the_repository_runs(place: GitPlace, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    hooks = place.top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (*HOOKS, "watch"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {trace}\n")
        (hooks / name).chmod(0o755)
    place.git("config", "core.fsmonitor", str(hooks / "watch"))
    place.git("config", "diff.external", str(hooks / "watch"))
    trace.unlink(missing_ok=True)
    worktree = place.done({"a.txt": "x\n"})
    place.apply(worktree, commit=True)
    assert not trace.exists()


def test_the_child_is_where_the_caller_is(place: GitPlace) -> None:
    (place.top / "ignored").mkdir()
    worktree = place.worktree(place.snapshot(place.top / "ignored"))
    assert worktree.cwd == worktree.path / "ignored"
    verify_worktree(worktree, worktree.cwd, place.env)


def elsewhere(place: GitPlace, worktree: Worktree) -> Path:
    return place.top


def beside(place: GitPlace, worktree: Worktree) -> Path:
    shutil.copytree(worktree.path, worktree.path.with_name(worktree.path.name + "x"))
    return worktree.path.with_name(worktree.path.name + "x")


def by_a_link(place: GitPlace, worktree: Worktree) -> Path:
    (worktree.path / "out").symlink_to(place.top)
    return worktree.path / "out"


def another_repository(place: GitPlace, worktree: Worktree) -> Path:
    (worktree.path / ".git").unlink()
    place.git("init", "-q", at=worktree.path)
    return worktree.path


def a_repository_inside(place: GitPlace, worktree: Worktree) -> Path:
    place.git("init", "-q", str(worktree.path / "sub"))
    return worktree.path / "sub"


def another_commit(place: GitPlace, worktree: Worktree) -> Path:
    place.git("commit", "-q", "--allow-empty", "-m", "x", at=worktree.path)
    return worktree.path


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (elsewhere, "the sub-agent would work in"),
        (beside, "the sub-agent would work in"),
        (by_a_link, "the sub-agent would work in"),
        (another_repository, "its repository is"),
        (a_repository_inside, "its top is"),
        (another_commit, "its commit is"),
    ],
)
def test_what_is_not_the_worktree_of_the_run_is_refused(
    place: GitPlace, change: Callable[[GitPlace, Worktree], Path], reason: str
) -> None:
    worktree = place.worktree()
    with pytest.raises(WorkspaceNotMade) as refused:
        verify_worktree(worktree, change(place, worktree), place.env)
    assert refused.value.reason.startswith(reason)


def test_one_is_made_again_at_its_path_with_what_was_changed_in_it(place: GitPlace) -> None:
    dirty(place)
    worktree = place.worktree()
    place.write({"a.txt": "mine\n", "deep/new.txt": "n\n"}, worktree.path)
    (worktree.path / "staged.txt").unlink()
    before, changes = place.files(worktree.path), place.save(worktree)
    assert remove_worktree(worktree, place.env)
    make_worktree(worktree, place.env, changes.tree)
    assert place.files(worktree.path) == before
    verify_worktree(worktree, worktree.cwd, place.env)
    status = place.git("status", "--porcelain", at=worktree.path)
    assert status.split(b"\n") == [b" M a.txt", b" D staged.txt", b"?? deep/", b""]
    assert place.save(worktree) == changes


def test_the_snapshot_outlives_the_repositorys_own_tidying(place: GitPlace) -> None:
    dirty(place)
    snapshot = place.snapshot()
    place.done({"a.txt": "x\n"}, snapshot)
    place.git("gc", "-q", "--prune=now")
    worktree = place.worktree(snapshot)
    expected = {
        name: each for name, each in place.files().items() if not name.startswith(b"ignored")
    }
    assert place.files(worktree.path) == expected


def test_what_stands_in_its_path_is_removed_links_not_followed(place: GitPlace) -> None:
    worktree = place.worktree()
    (worktree.path / "to-the-project").symlink_to(place.top)
    locked = worktree.path / "locked"
    locked.mkdir()
    (locked / "file").write_text("x")
    locked.chmod(0o500)
    before = place.files()
    assert remove_worktree(worktree, place.env)
    assert not worktree.path.exists()
    assert place.files() == before


def test_one_whose_files_or_record_are_gone_is_removed(place: GitPlace) -> None:
    before = place.state()
    without_files, without_record = place.worktree(), place.worktree()
    shutil.rmtree(without_files.path)
    admin = without_record.admin_dir()
    assert admin is not None
    shutil.rmtree(admin)
    assert remove_worktree(without_files, place.env)
    assert remove_worktree(without_record, place.env)
    assert place.state() == before


def test_one_that_cannot_be_made_leaves_nothing(place: GitPlace) -> None:
    place.git("config", "filter.must.smudge", "no-such-program")
    place.git("config", "filter.must.clean", "cat")
    place.git("config", "filter.must.required", "true")
    place.write({".gitattributes": "*.must filter=must\n", "x.must": "text\n"})
    before, snapshot = place.state(), place.snapshot()
    worktree = Worktree(snapshot, "0123")
    with pytest.raises(WorkspaceNotMade, match="smudge filter must failed"):
        make_worktree(worktree, place.env)
    assert not worktree.path.exists()
    assert place.state() == before


def test_a_worktree_of_the_users_that_is_gone_is_left_alone(place: GitPlace) -> None:
    own = place.root / "own"
    place.git("worktree", "add", "-q", str(own))
    shutil.rmtree(own)
    before = place.state()
    place.done({"a.txt": "x\n"})
    assert place.state() == before


def test_the_variables_of_one_repository_are_those_that_git_lists(place: GitPlace) -> None:
    listed = set(place.git("rev-parse", "--local-env-vars").decode().split())
    assert listed <= LOCAL_VARIABLES
    env = dict.fromkeys(listed, "x") | {"PATH": "p", "GIT_AUTHOR_NAME": "Jane"}
    assert without_local_variables(env) == {"PATH": "p", "GIT_AUTHOR_NAME": "Jane"}


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("git version 2.39.5", (2, 39)),
        ("git version 2.39.5 (Apple Git-154)", (2, 39)),
        ("git version 2.50.0.rc1.dirty", (2, 50)),
        ("something else", ()),
    ],
)
def test_the_version_is_read(words: str, version: tuple[int, ...]) -> None:
    assert version_of(words) == version


@pytest.mark.parametrize("said", ["git version 2.37.9", "nonsense"])
def test_a_git_that_is_too_old_is_refused(place: GitPlace, tmp_path: Path, said: str) -> None:
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(f"#!/bin/sh\necho {said}\n")
    old.chmod(0o755)
    env = {**place.env, "PATH": f"{old.parent}:{os.environ['PATH']}"}
    with pytest.raises(GitMissing, match=r"is not git 2\.38 or newer"):
        find_repository(place.top, env)
    with pytest.raises(GitMissing, match="there is no git on PATH"):
        find_repository(place.top, {**env, "PATH": str(tmp_path / "none")})
