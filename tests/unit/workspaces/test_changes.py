"""What a run changed is saved exactly, and what is in no patch is named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.fakes.git_place import LINES, MEGABYTE, GitPlace, dirty

from pi_subagents.core.workspace.changes import ChangedFile, changes_from_json, changes_to_json
from pi_subagents.errors import ChangesUnavailable
from pi_subagents.workspaces.changes import proven_patch, read_changes, tree_of_patch, warnings_of
from pi_subagents.workspaces.content import copy_index
from pi_subagents.workspaces.worktree import make_worktree

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.workspace.changes import Changes

NEW, GONE = "000000", "100644"


def by_path(changes: Changes) -> dict[str, tuple[str, int | None, int | None]]:
    return {file.path: (file.kind, file.added, file.removed) for file in changes.files}


def test_changes_of_every_kind_are_counted_and_come_back_exactly(place: GitPlace) -> None:
    place.write({"gone.txt": "g\n", "moved.txt": LINES + "m\n", "tool": "x\n", "kind": "k\n"})
    place.commit()
    dirty(place)
    worktree = place.worktree()
    place.write(
        {"a.txt": "one\n", "new file": b"\xff\0bin", "moved there": LINES + "m\n"}, worktree.path
    )
    for name in ("gone.txt", "moved.txt", "kind"):
        (worktree.path / name).unlink()
    (worktree.path / "kind").symlink_to("a.txt")
    (worktree.path / "tool").chmod(0o755)
    place.write({"ignored/x": "not in it\n"}, worktree.path)
    changes = place.save(worktree)
    assert by_path(changes) == {
        "a.txt": ("M", 1, 40),
        "gone.txt": ("D", 0, 1),
        "kind": ("T", 1, 1),
        "moved there": ("R", 0, 0),
        "new file": ("A", None, None),
        "tool": ("M", 0, 0),
    }
    assert ChangedFile("tool", "M", "100644", "100755", 0, 0) in changes.files
    assert changes.summary == "6 files changed, +2 \N{MINUS SIGN}42"
    with proven_patch(worktree, place.run_dir(worktree)) as patch:
        assert tree_of_patch(worktree, patch, place.env) == changes.tree
    assert changes.kept == ""
    expected = {name: e for name, e in place.files(worktree.path).items() if name != b"ignored/x"}
    make_worktree(worktree, place.env, changes.tree)
    assert place.files(worktree.path) == expected


def test_they_are_read_again_as_they_were_saved(place: GitPlace) -> None:
    worktree = place.worktree()
    place.write({os.fsdecode(b"\xff\n"): "x\n"}, worktree.path)
    changes = place.save(worktree)
    assert read_changes(place.run_dir(worktree)) == changes
    assert changes_from_json(changes_to_json(changes)) == changes
    assert [file.path for file in changes.files] == ["\udcff\n"]


def test_nothing_changed_is_an_empty_patch(place: GitPlace) -> None:
    dirty(place)
    worktree = place.worktree()
    (worktree.path / "a.txt").touch()
    changes = place.save(worktree)
    assert (changes.files, changes.patch_bytes, changes.summary) == ((), 0, "no files changed")
    assert (place.run_dir(worktree) / "changes.patch").read_bytes() == b""


def test_its_own_commits_are_changes_and_its_branches_and_stashes_are_named(
    place: GitPlace,
) -> None:
    worktree = place.worktree()
    at = worktree.path
    place.git("branch", "of-somebody-else", "HEAD~0")
    place.git("commit", "-q", "--allow-empty", "-m", "of the user")
    place.write({"a.txt": "committed\n"}, at)
    place.git("checkout", "-q", "-b", "mine", at=at)
    place.git("commit", "-qam", "one", at=at)
    place.write({"a.txt": "stashed\n"}, at)
    place.git("stash", "-q", at=at)
    place.git("tag", "mark", at=at)
    place.write({"new.txt": "left\n"}, at)
    changes = place.save(worktree)
    assert by_path(changes) == {"a.txt": ("M", 1, 40), "new.txt": ("A", 1, 0)}
    assert changes.commits == 1
    assert {"refs/heads/mine", "refs/tags/mark", "refs/stash"} <= set(changes.refs)
    assert "refs/heads/main" not in changes.refs


def test_what_it_hides_from_git_in_its_worktree_is_seen(place: GitPlace) -> None:
    worktree = place.worktree()
    at = worktree.path
    place.git("update-index", "--assume-unchanged", "a.txt", at=at)
    stamp = (at / "a.txt").stat()
    (at / "a.txt").write_text(LINES.upper())
    os.utime(at / "a.txt", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (at / ".git").unlink()
    place.git("init", "-q", at=at)
    place.git("config", "core.fsmonitor", f"touch {place.root / 'ran'}", at=at)
    changes = place.save(worktree)
    assert by_path(changes) == {"a.txt": ("M", 40, 40)}
    assert not (place.root / "ran").exists()


def test_a_copied_index_is_as_old_as_its_source(tmp_path: Path) -> None:
    """Git reads files again that changed within the second in which their index was written."""
    source, copy = tmp_path / "index", tmp_path / "copy"
    source.write_bytes(b"DIRC")
    os.utime(source, ns=(1, 2))
    copy_index(source, copy)
    assert (copy.read_bytes(), copy.stat().st_mtime_ns) == (b"DIRC", 2)


def test_a_worktree_without_a_record_still_has_its_changes(place: GitPlace) -> None:
    worktree = place.worktree()
    place.write({"new.txt": "n\n"}, worktree.path)
    place.git("worktree", "unlock", str(worktree.path))
    admin = worktree.admin_dir()
    assert admin is not None
    (admin / "HEAD").write_text("nonsense")
    assert by_path(place.save(worktree)) == {"new.txt": ("A", 1, 0)}


@pytest.mark.parametrize("commit", [True, False])
def test_repositories_made_in_it_are_named_and_it_is_kept(place: GitPlace, commit: bool) -> None:
    worktree = place.worktree()
    inner = worktree.path / "inner"
    place.git("init", "-q", str(inner))
    place.write({"x": "x\n", "../beside.txt": "b\n"}, inner)
    if commit:
        place.git("add", "-A", at=inner)
        place.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x", at=inner)
    changes = place.save(worktree)
    assert changes.nested == ("inner",)
    assert changes.kept == "the content of repositories in it is in no patch: inner"
    assert by_path(changes) == {"beside.txt": ("A", 1, 0)}


def test_a_patch_beyond_the_limit_is_not_cut_but_left_out(place: GitPlace) -> None:
    worktree = place.worktree()
    (worktree.path / "noise.bin").write_bytes(os.urandom(2 * MEGABYTE))
    changes = place.save(worktree, MEGABYTE)
    assert changes.kept == "its patch would be larger than 1 MB (workspace_max_megabytes)"
    assert by_path(changes) == {"noise.bin": ("A", None, None)}
    assert not (place.run_dir(worktree) / "changes.patch").exists()
    with (
        pytest.raises(ChangesUnavailable, match=f"they are in {worktree.path}"),
        proven_patch(worktree, place.run_dir(worktree)),
    ):
        pass


def test_files_that_changed_in_the_callers_checkout_meanwhile_are_named(place: GitPlace) -> None:
    worktree = place.worktree()
    place.write({"elsewhere.txt": "x\n"})
    assert place.save(worktree).changed_meanwhile == ("elsewhere.txt",)


def test_a_patch_that_somebody_wrote_to_is_refused(place: GitPlace) -> None:
    worktree = place.done({"a.txt": "x\n"})
    patch = place.run_dir(worktree) / "changes.patch"
    patch.write_bytes(patch.read_bytes().replace(b"+x", b"+y"))
    with (
        pytest.raises(ChangesUnavailable, match="somebody wrote to it since"),
        proven_patch(worktree, place.run_dir(worktree)),
    ):
        pass


def test_what_has_power_and_links_that_leave_are_warned_of(place: GitPlace) -> None:
    worktree = place.worktree()
    forged = ".husky/x\n  M harmless"
    files = (
        *(".pi/settings.json", "deep/AGENTS.md", ".github/workflows/ci.yml", "harmless/ci.yml"),
        *("GEMINI.md", ".codex/config.toml", forged),
    )
    place.write(dict.fromkeys(files, "x\n"), worktree.path)
    (worktree.path / "sub/up").symlink_to("../../outside")
    (worktree.path / "sub/within").symlink_to("../a.txt")
    (worktree.path / "absolute").symlink_to("/etc/passwd")
    changes = place.save(worktree)
    assert warnings_of(worktree, changes, place.env) == (
        ".codex/config.toml tells agents or machines what to do",
        ".github/workflows/ci.yml tells agents or machines what to do",
        r'".husky/x\n  M harmless" tells agents or machines what to do',
        ".pi/settings.json tells agents or machines what to do",
        "GEMINI.md tells agents or machines what to do",
        "deep/AGENTS.md tells agents or machines what to do",
        "absolute is a link that leaves the tree: /etc/passwd",
        "sub/up is a link that leaves the tree: ../../outside",
    )


@pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
def test_line_ends_come_back_as_the_child_wrote_them(place: GitPlace, autocrlf: str) -> None:
    place.write({"windows.txt": b"a\r\nb\r\n"})
    place.commit()
    place.git("config", "core.autocrlf", autocrlf)
    worktree = place.worktree()
    place.write({"windows.txt": b"a\r\nc\r\n", "new.txt": b"x\r\n"}, worktree.path)
    changes = place.save(worktree)
    assert changes.kept == ""
    make_worktree(worktree, place.env, changes.tree)
    assert (worktree.path / "windows.txt").read_bytes() == b"a\r\nc\r\n"
