"""A snapshot is what the caller sees, and taking one changes nothing that is the user's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.fakes.git_place import LINES, GitPlace, dirty

from pi_subagents.errors import GitFailed, NoWorkspace
from pi_subagents.workspaces.snapshot import changed_since, load_snapshot, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD_NAMES = [
    b"with space",
    b"new\nline",
    b"tab\there",
    b"quote\"'",
    b"\xff\xfe",
    b"-x",
    b"\\",
    b":(top)x",
]


def test_of_a_checkout_without_changes_it_is_head_itself(place: GitPlace) -> None:
    snapshot = place.snapshot()
    assert snapshot.commit == place.git("rev-parse", "HEAD").decode().strip()
    assert list(snapshot.objects.rglob("[0-9a-f]*")) == []


def test_it_has_what_is_staged_changed_deleted_and_untracked_and_not_what_is_ignored(
    place: GitPlace,
) -> None:
    dirty(place)
    worktree = place.worktree()
    expected = {
        name: each for name, each in place.files().items() if not name.startswith(b"ignored")
    }
    assert place.files(worktree.path) == expected
    assert b"untracked/new.txt" in expected
    assert b"sub/b.txt" not in expected


def test_taking_one_changes_nothing_in_the_repository(place: GitPlace) -> None:
    dirty(place)
    before, objects = place.state(), sorted((place.top / ".git/objects").rglob("*"))
    place.snapshot()
    assert place.state() == before
    assert sorted((place.top / ".git/objects").rglob("*")) == objects


def test_it_is_read_again_as_it_was_kept(place: GitPlace) -> None:
    dirty(place)
    snapshot = place.snapshot(place.top / "untracked")
    assert snapshot.prefix == "untracked"
    assert load_snapshot(snapshot.dir) == snapshot


@pytest.mark.parametrize("name", ODD_NAMES)
def test_every_name_is_kept_to_the_byte(place: GitPlace, name: bytes) -> None:
    path = os.path.join(os.fsencode(place.top), name)
    with open(path, "wb") as file:
        file.write(b"odd\n")
    os.symlink(name, path + b".link")
    os.mkdir(path + b".d")
    with open(os.path.join(path + b".d", name), "wb") as file:
        file.write(b"inside\n")
    worktree = place.worktree()
    assert place.files(worktree.path) == place.files()


@pytest.mark.parametrize(
    "content", [b"", b"\r\n", b"a\r\nb\n", b"\0\xff", b"no end", b"\xef\xbb\xbfx\r", b"a\r\nb\r\n"]
)
def test_every_content_is_kept_to_the_byte(place: GitPlace, content: bytes) -> None:
    place.write({"changed.bin": content, "a.txt": content})
    assert place.files(place.worktree().path) == place.files()


def test_line_ends_are_as_they_are_in_a_checkout_with_autocrlf(place: GitPlace) -> None:
    place.git("config", "core.autocrlf", "true")
    place.write({"windows.txt": b"a\r\nb\r\n"})
    worktree = place.worktree()
    assert (worktree.path / "windows.txt").read_bytes() == b"a\r\nb\r\n"


def test_links_programs_and_changes_of_kind_are_kept(place: GitPlace) -> None:
    (place.top / "a.txt").unlink()
    (place.top / "a.txt").symlink_to("sub/b.txt")
    place.write({"tool": "#!/bin/sh\n"})
    (place.top / "tool").chmod(0o755)
    (place.top / "dangling").symlink_to("/nowhere")
    (place.top / "sub" / "b.txt").unlink()
    (place.top / "sub").rmdir()
    place.write({"sub": "now a file\n", ".gitignore": "ignored/\n"})
    assert place.files(place.worktree().path) == place.files()


def test_a_file_that_becomes_a_directory_is_one(place: GitPlace) -> None:
    (place.top / "a.txt").unlink()
    place.write({"a.txt/inside": "x\n"})
    assert place.files(place.worktree().path) == place.files()


def test_files_that_git_was_told_not_to_look_at_are_seen_as_well(place: GitPlace) -> None:
    place.git("update-index", "--assume-unchanged", "a.txt")
    place.git("update-index", "--skip-worktree", "sub/b.txt")
    place.write({"a.txt": "hidden\n", "sub/b.txt": "hidden too\n"})
    assert place.files(place.worktree().path) == place.files()


def test_what_was_only_announced_to_git_is_there(place: GitPlace) -> None:
    place.write({"later.txt": "x\n"})
    place.git("add", "-N", "later.txt")
    assert place.files(place.worktree().path) == place.files()


def test_unmerged_files_are_there_as_they_look(place: GitPlace) -> None:
    place.write({"a.txt": LINES + "stashed\n"})
    place.git("stash", "-q")
    place.write({"a.txt": LINES + "mine\n"})
    place.commit()
    with pytest.raises(AssertionError):
        place.git("stash", "pop")
    assert b"<<<<<<<" in (place.top / "a.txt").read_bytes()
    assert place.files(place.worktree().path) == place.files()


def test_a_sparse_checkout_stays_sparse(place: GitPlace) -> None:
    place.write({"other/c.txt": "c\n", "other/d.txt": "d\n"})
    place.commit()
    place.git("sparse-checkout", "set", "sub")
    place.write({"sub/new.txt": "n\n"})
    worktree = place.worktree()
    assert place.files(worktree.path) == place.files()
    assert place.git("ls-tree", "-r", "--name-only", worktree.snapshot.commit).split() == [
        b".gitignore", b"a.txt", b"other/c.txt", b"other/d.txt", b"sub/b.txt", b"sub/new.txt",
    ]  # fmt: skip
    (worktree.path / "sub/new.txt").write_text("changed\n")
    assert [file.path for file in place.save(worktree).files] == ["sub/new.txt"]


def test_files_that_pass_a_filter_look_the_same_in_the_worktree(place: GitPlace) -> None:
    place.git("config", "filter.caps.clean", "tr a-z A-Z")
    place.git("config", "filter.caps.smudge", "tr A-Z a-z")
    place.write({".gitattributes": "*.caps filter=caps\n", "x.caps": "text\n"})
    worktree = place.worktree()
    assert (worktree.path / "x.caps").read_bytes() == b"text\n"
    assert place.git("show", f"{worktree.snapshot.commit}:x.caps") == b"TEXT\n"


def test_pointers_of_lfs_stay_what_they_are_without_lfs(place: GitPlace) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    place.write({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin": pointer})
    assert (place.worktree().path / "x.bin").read_bytes() == pointer


def test_a_filter_that_has_to_be_there_and_is_not_is_refused_with_what_git_says(
    place: GitPlace,
) -> None:
    place.git("config", "filter.must.required", "true")
    place.git("config", "filter.must.clean", "no-such-program")
    place.write({".gitattributes": "*.must filter=must\n", "x.must": "text\n"})
    with pytest.raises(GitFailed, match=r"x\.must: clean filter 'must' failed"):
        place.snapshot()


def test_the_variables_of_the_caller_lead_nowhere_else(place: GitPlace, tmp_path: Path) -> None:
    wrong = {
        name: str(tmp_path / "elsewhere")
        for name in (
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_WORK_TREE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_COMMON_DIR",
        )
    }
    dirty(place)
    env = {**place.env, **wrong, "GIT_CONFIG_COUNT": "x", "GIT_TRACE": str(tmp_path / "trace")}
    snapshot = take_snapshot(place.top, tmp_path / "data" / "x", env)
    assert snapshot.tree == place.snapshot().tree
    assert not (tmp_path / "trace").exists()


def test_a_detached_head_and_a_worktree_of_the_users_are_snapshots_of_themselves(
    place: GitPlace,
) -> None:
    own = place.root / "own"
    place.git("worktree", "add", "-q", "--detach", str(own))
    place.write({"only-here.txt": "x\n"}, own)
    snapshot = place.snapshot(own)
    assert snapshot.repository.top == str(own)
    worktree = place.worktree(snapshot)
    assert place.files(worktree.path) == place.files(own)
    inner = place.worktree(place.snapshot(worktree.path / "sub"))
    assert place.files(inner.path) == place.files(own)


def test_a_checkout_of_a_bare_repository_has_worktrees(place: GitPlace) -> None:
    bare, own = place.root / "bare.git", place.root / "own"
    place.git("clone", "-q", "--bare", str(place.top), str(bare))
    place.git("worktree", "add", "-q", str(own), "main", at=bare)
    place.write({"new.txt": "x\n"}, own)
    worktree = place.worktree(place.snapshot(own))
    assert place.files(worktree.path) == place.files(own)
    (worktree.path / "new.txt").write_text("y\n")
    assert [file.path for file in place.save(worktree).files] == ["new.txt"]


def test_a_repository_behind_a_link_with_an_odd_name_is_found(place: GitPlace) -> None:
    odd = place.root / "odd\n: na\udcffme"
    place.top.rename(odd)
    (place.root / "link").symlink_to(odd)
    place.write({"new.txt": "x\n"}, odd)
    snapshot = place.snapshot(place.root / "link" / "sub")
    assert snapshot.repository.top == str(odd)
    worktree = place.worktree(snapshot)
    assert worktree.cwd == worktree.path / "sub"
    assert place.files(worktree.path) == place.files(odd)
    assert load_snapshot(snapshot.dir) == snapshot


def test_files_that_changed_meanwhile_are_named(place: GitPlace) -> None:
    dirty(place)
    snapshot = place.snapshot()
    assert changed_since(snapshot, place.env) == ()
    place.write({"untracked/new.txt": "newer\n", "another.txt": "x\n"})
    assert changed_since(snapshot, place.env) == ("another.txt", "untracked/new.txt")


def in_progress(place: GitPlace, command: str) -> None:
    place.git("checkout", "-q", "-b", "side")
    place.write({"a.txt": "side\n"})
    place.commit()
    place.git("checkout", "-q", "main")
    place.write({"a.txt": "main\n"})
    place.commit()
    with pytest.raises(AssertionError):
        place.git(command, "side")


def merging(place: GitPlace) -> None:
    in_progress(place, "merge")


def rebasing(place: GitPlace) -> None:
    in_progress(place, "rebase")


def picking(place: GitPlace) -> None:
    in_progress(place, "cherry-pick")


def split(place: GitPlace) -> None:
    place.git("update-index", "--split-index")


def nested(place: GitPlace) -> None:
    place.git("init", "-q", "inner/repo")
    place.write({"inner/repo/x": "x\n"})


def nested_with_a_commit(place: GitPlace) -> None:
    nested(place)
    inner = place.top / "inner/repo"
    place.git("add", "-A", at=inner)
    place.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x", at=inner)


def submodule(place: GitPlace) -> None:
    library = place.root / "library"
    place.git("clone", "-q", str(place.top), str(library))
    place.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib"
    )
    place.commit()


def submodule_with_changes(place: GitPlace) -> None:
    submodule(place)
    place.write({"lib/a.txt": "changed\n"})


def submodule_with_new_files(place: GitPlace) -> None:
    submodule(place)
    place.write({"lib/new.txt": "new\n"})


def submodule_with_a_commit(place: GitPlace) -> None:
    submodule_with_changes(place)
    place.git(
        "-c", "user.name=x", "-c", "user.email=x", "commit", "-qam", "x", at=place.top / "lib"
    )


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (merging, "a merge is in progress"),
        (rebasing, "a rebase is in progress"),
        (picking, "a cherry-pick is in progress"),
        (split, "its index is split"),
        (nested, "there are repositories in it whose files are not part of it: inner/repo"),
        (nested_with_a_commit, "there are repositories in it"),
        (submodule_with_changes, "there are submodules with changes of their own: lib"),
        (submodule_with_new_files, "there are submodules with changes of their own: lib"),
        (submodule_with_a_commit, "there are submodules with changes of their own: lib"),
    ],
)
def test_what_no_tree_can_show_is_refused(
    place: GitPlace, make: Callable[[GitPlace], None], reason: str
) -> None:
    make(place)
    before = place.state()
    with pytest.raises(NoWorkspace) as refused:
        place.snapshot()
    assert refused.value.reason.startswith(reason)
    assert place.state() == before
    assert list((place.root / "data").rglob("*.json")) == []


def test_submodules_without_changes_are_empty_directories(place: GitPlace) -> None:
    submodule(place)
    worktree = place.worktree()
    assert list((worktree.path / "lib").iterdir()) == []
    assert place.save(worktree).files == ()


def test_no_repository_no_commit_and_no_files_are_refused(place: GitPlace, tmp_path: Path) -> None:
    unborn, bare = tmp_path / "unborn", tmp_path / "bare"
    place.git("init", "-q", str(unborn))
    place.git("init", "-q", "--bare", str(bare))
    for cwd, reason in (
        (tmp_path, "it is in no git repository"),
        (unborn, "its repository has no commit yet"),
        (bare, "its repository is bare"),
        (place.top / ".git", "its repository is bare, or it is inside of .git"),
    ):
        with pytest.raises(NoWorkspace) as refused:
            place.snapshot(cwd)
        assert refused.value.reason.startswith(reason)


def test_worktrees_inside_the_repository_have_to_be_ignored(place: GitPlace) -> None:
    with pytest.raises(NoWorkspace, match="worktrees would be inside of it"):
        take_snapshot(place.top, place.top / "data" / "x", place.env)
    take_snapshot(place.top, place.top / "ignored" / "x", place.env)


def test_a_full_disk_and_a_repository_that_cannot_be_written_to_are_refused(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, _: not str(path).endswith(".git"))
        with pytest.raises(NoWorkspace, match=r"\.git cannot be written to"):
            place.snapshot()
    full = os.statvfs_result((4096, 4096, 1000, 1, 1, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(NoWorkspace, match="there is no space left in"):
        place.snapshot()
