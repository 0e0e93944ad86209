"""Changes are taken whole and in order, or nothing is touched and the reason is said."""

from __future__ import annotations

import os
import resource

import pytest
from tests.fakes.git_place import LINES, MEGABYTE, GitPlace, dirty

from pi_subagents.errors import ChangesConflict, ChangesUnavailable, GitFailed
from pi_subagents.workspaces.applying import RunChanges, discard_changes
from pi_subagents.workspaces.seal import read_seal


def line(number: int, text: str) -> str:
    return LINES.replace(f"line {number}\n", f"{text}\n")


def test_taken_changes_are_in_the_files_and_nowhere_else(place: GitPlace) -> None:
    dirty(place)
    worktree = place.done({"a.txt": line(20, "line twenty").replace("line 1\n", "1\n"), "n": "n\n"})
    before = place.state()
    taken = place.apply(worktree)
    assert [file.path for file in taken.files] == ["a.txt", "n"]
    assert (place.top / "a.txt").read_text() == line(20, "line twenty").replace("line 1\n", "1\n")
    after = place.state()
    odd = {name for name in after if after[name] != before.get(name)}
    assert odd == {"status --porcelain=v2 --branch"}


def test_several_that_fit_are_taken_together(place: GitPlace) -> None:
    snapshot = place.snapshot()
    runs = [place.done({"a.txt": line(n, f"by {n}")}, snapshot) for n in (5, 20, 35)]
    place.write({"a.txt": line(12, "by the user")})
    place.apply(*runs)
    expected = LINES
    for number, who in ((5, "by 5"), (20, "by 20"), (35, "by 35"), (12, "by the user")):
        expected = expected.replace(f"line {number}\n", f"{who}\n")
    assert (place.top / "a.txt").read_text() == expected


def test_one_that_does_not_fit_is_told_by_file_and_hunk_and_none_is_taken(place: GitPlace) -> None:
    snapshot = place.snapshot()
    runs = [place.done({"a.txt": line(n, f"by {n}")}, snapshot) for n in (5, 20, 35)]
    other = line(20, "another").replace("line 35\n", "another\n")
    fourth = place.done({"a.txt": other, "new.txt": "n\n"}, snapshot)
    before, files = place.state(), place.files()
    with pytest.raises(ChangesConflict) as refused:
        place.apply(*runs, fourth)
    assert refused.value.run == fourth.run_id
    assert refused.value.conflicts == (
        "a.txt, line 20: changed in the checkout too",
        "a.txt, line 35: changed in the checkout too",
    )
    assert (place.state(), place.files()) == (before, files)
    place.apply(*runs)
    with pytest.raises(ChangesConflict):
        place.apply(fourth)


def test_conflicts_that_are_not_about_lines_are_named(place: GitPlace) -> None:
    place.write({"bin": b"\0one", "gone": "g\n"})
    place.commit()
    snapshot = place.snapshot()
    worktree = place.done({"bin": b"\0two", "gone": "changed\n", "both": "x\n"}, snapshot)
    place.write({"bin": b"\0three", "both": "y\n"})
    (place.top / "gone").unlink()
    with pytest.raises(ChangesConflict) as refused:
        place.apply(worktree)
    assert [each.split(":")[0] for each in refused.value.conflicts] == [
        "both, line 1",
        "bin",
        "gone",
    ]


def test_they_are_taken_once(place: GitPlace) -> None:
    worktree = place.done({"n": "n\n"})
    place.apply(worktree)
    with pytest.raises(ChangesUnavailable, match="they were applied already"):
        place.apply(worktree)


def test_a_check_says_what_would_be_and_changes_nothing(place: GitPlace) -> None:
    worktree = place.done({"n": "n\n", ".pi/settings.json": "{}\n"})
    before, files = place.state(), place.files()
    taken = place.apply(worktree, check=True)
    assert [file.path for file in taken.files] == [".pi/settings.json", "n"]
    assert taken.warnings == (".pi/settings.json tells agents or machines what to do",)
    assert (place.state(), place.files()) == (before, files)
    place.apply(worktree)


def test_every_kind_of_change_arrives(place: GitPlace) -> None:
    place.write(
        {"gone": "g\n", "tool": "t\n", "moved": LINES + "m\n", "dir/x": "x\n", "file": "f\n"}
    )
    place.commit()
    worktree = place.worktree()
    at = worktree.path
    for name in ("gone", "moved", "file", "dir/x"):
        (at / name).unlink()
    (at / "dir").rmdir()
    place.write(
        {"there/moved": LINES + "m\n", "bin": b"\0\xff", "file/now": "d\n", "dir": "f\n"}, at
    )
    place.write({os.fsdecode(b"odd \xff\n"): "x\n"}, at)
    (at / "tool").chmod(0o755)
    (at / "link").symlink_to("tool")
    place.save(worktree)
    place.apply(worktree)
    assert place.files() == place.files(at)


def test_a_file_that_git_does_not_look_at_is_not_written_over(place: GitPlace) -> None:
    worktree = place.worktree()
    place.write({".gitignore": "", "ignored/x": "from the run\n", "y.log": "l\n"}, worktree.path)
    place.save(worktree)
    place.write({"ignored/x": "mine\n"})
    files = place.files()
    with pytest.raises(ChangesConflict) as refused:
        place.apply(worktree)
    assert refused.value.conflicts == (
        "ignored/x: a file that is not part of the repository is in the way",
    )
    assert place.files() == files


def test_what_cannot_be_written_whole_is_put_back(place: GitPlace) -> None:
    zeros = bytes(2 * MEGABYTE)
    worktree = place.done({"a.txt": "x\n", "new/n": "n\n", "new/zeros": zeros, "z": "z\n"})
    before, files = place.state(), place.files()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, hard))
    try:
        with pytest.raises(GitFailed, match="read-tree"):
            place.apply(worktree)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (place.state(), place.files()) == (before, files)
    assert not (place.top / "new").exists()
    place.apply(worktree)


@pytest.mark.parametrize("commit", [True, False])
def test_a_file_that_was_only_touched_is_no_obstacle(place: GitPlace, commit: bool) -> None:
    worktree = place.done({"a.txt": line(5, "by 5")})
    (place.top / "a.txt").touch()
    place.apply(worktree, commit=commit)
    assert (place.top / "a.txt").read_text() == line(5, "by 5")


def test_with_commit_each_is_a_commit_and_other_changes_stay_as_they_are(place: GitPlace) -> None:
    snapshot = place.snapshot()
    runs = [place.done({"a.txt": line(n, f"by {n}")}, snapshot) for n in (5, 20)]
    dirty_files: dict[str, bytes | str] = {"staged.txt": "s\n", "loose.txt": "l\n"}
    place.write(dirty_files)
    place.git("add", "staged.txt")
    taken = place.apply(*runs, commit=True)
    log = place.git("log", "--format=%H %an %s").decode().split("\n")[:3]
    assert log[:2] == [f"{commit} Jane Taken" for commit in reversed(taken.commits)]
    status = place.git("status", "--porcelain").split(b"\n")
    assert status == [b"A  staged.txt", b"?? loose.txt", b""]


def test_a_commit_that_would_take_along_uncommitted_changes_is_refused(place: GitPlace) -> None:
    worktree = place.done({"a.txt": line(5, "by 5")})
    place.write({"a.txt": line(30, "mine")})
    before, files = place.state(), place.files()
    with pytest.raises(ChangesConflict, match="a commit would take them along"):
        place.apply(worktree, commit=True)
    assert (place.state(), place.files()) == (before, files)


def test_changes_on_a_dirty_checkout_are_committed_without_what_was_dirty(place: GitPlace) -> None:
    dirty(place)
    worktree = place.done({"n": "n\n"})
    place.apply(worktree, commit=True)
    assert place.git("show", "--format=", "--name-only").split() == [b"n"]
    assert (place.top / "n").read_text() == "n\n"


def test_they_are_taken_after_the_user_went_on(place: GitPlace) -> None:
    worktree = place.done({"a.txt": line(5, "by 5")})
    place.write({"a.txt": line(30, "mine")})
    place.commit()
    place.git("mv", "a.txt", "renamed.txt")
    place.commit()
    place.apply(worktree)
    assert (place.top / "renamed.txt").read_text() == line(5, "by 5").replace("line 30", "mine")


def test_discarded_changes_are_gone(place: GitPlace) -> None:
    worktree = place.done({"n": "n\n"})
    before = place.state()
    discard_changes(RunChanges(worktree, place.run_dir(worktree)), place.env, 5)
    assert place.state() == before
    seal = read_seal(worktree.desk)
    assert seal is not None
    assert seal.discarded_at_ms == 5
    with pytest.raises(ChangesUnavailable, match="they were discarded"):
        place.apply(worktree)
    assert not (place.run_dir(worktree) / "changes.patch").exists()


def test_what_changed_nothing_is_not_taken(place: GitPlace) -> None:
    with pytest.raises(ChangesUnavailable, match="it changed nothing"):
        place.apply(place.done({}))
