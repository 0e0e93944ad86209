from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.engines.pi.skills import tree as skill_tree
from pi_subagents.engines.pi.skills.tree import SkillWalk, mode_of

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, *places: str) -> None:
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("x")


def below(root: Path, paths: list[Path]) -> list[str]:
    return [path.relative_to(root).as_posix() for path in paths]


def found(root: Path, *, loose_below: bool = False) -> list[str]:
    walk = SkillWalk()
    paths = walk.skill_files(root, loose_below=loose_below)
    assert walk.cut is None
    return below(root, paths)


def test_skills_are_found_at_any_depth_in_the_order_of_their_names(tmp_path: Path) -> None:
    put(tmp_path, "b/SKILL.md", "a/c/SKILL.md", "Z/SKILL.md", "é/SKILL.md", "a-b/SKILL.md")
    assert found(tmp_path) == [
        "Z/SKILL.md", "a/c/SKILL.md", "a-b/SKILL.md", "b/SKILL.md", "é/SKILL.md",
    ]  # fmt: skip


def test_a_directory_with_a_skill_is_not_searched_further(tmp_path: Path) -> None:
    put(tmp_path, "a/SKILL.md", "a/inner/SKILL.md", "a/x.md")
    assert found(tmp_path, loose_below=True) == ["a/SKILL.md"]
    put(tmp_path, "SKILL.md", "x.md")
    assert found(tmp_path) == ["SKILL.md"]


def test_loose_files_count_in_the_root_or_everywhere_else(tmp_path: Path) -> None:
    put(tmp_path, "x.md", "a/y.md", "a/b/z.md", "a/skill.MD", "a/w.txt", "a/.v.md")
    assert found(tmp_path) == ["x.md"]
    assert found(tmp_path, loose_below=True) == ["a/b/z.md", "a/y.md"]


def test_hidden_names_and_installed_modules_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, ".a/SKILL.md", "node_modules/b/SKILL.md", "c/node_modules/SKILL.md", "d/SKILL.md")
    assert found(tmp_path) == ["d/SKILL.md"]


def test_ignore_files_of_three_names_count_from_where_they_stand(tmp_path: Path) -> None:
    names = [f"{top}/{name}/SKILL.md" for top in "abc" for name in ("git", "plain", "fd", "up")]
    put(tmp_path, *names, "x.md", "y.md")
    (tmp_path / ".gitignore").write_text("up\nx.md\n")
    (tmp_path / "a/.gitignore").write_text("git/\n")
    (tmp_path / "b/.ignore").write_text("plain/SKILL.md\n")
    (tmp_path / "c/.fdignore").write_text("fd\n!up\n")
    assert found(tmp_path) == [
        "a/fd/SKILL.md", "a/plain/SKILL.md",
        "b/fd/SKILL.md", "b/git/SKILL.md",
        "c/git/SKILL.md", "c/plain/SKILL.md", "c/up/SKILL.md",
        "y.md",
    ]  # fmt: skip


def test_an_ignored_skill_file_leaves_its_directory_to_be_searched(tmp_path: Path) -> None:
    put(tmp_path, "a/SKILL.md", "a/inner/x.md")
    (tmp_path / "a/.gitignore").write_text("SKILL.md\n")
    assert found(tmp_path, loose_below=True) == ["a/inner/x.md"]


@pytest.mark.parametrize("kind", ["fifo", "directory", "huge", "dangling", "loop"])
def test_an_ignore_file_that_cannot_be_read_ignores_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".gitignore"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "huge":
            path.write_text("a\n" * skill_tree.MAX_IGNORE_BYTES)
        case "dangling":
            path.symlink_to("nowhere")
        case "loop":
            path.symlink_to(path)
    put(tmp_path, "a/SKILL.md")
    assert found(tmp_path) == ["a/SKILL.md"]


def test_an_ignore_file_may_be_a_link(tmp_path: Path) -> None:
    put(tmp_path, "root/a/SKILL.md", "root/b/SKILL.md")
    (tmp_path / "rules").write_text("a")
    (tmp_path / "root/.ignore").symlink_to(tmp_path / "rules")
    assert found(tmp_path / "root") == ["b/SKILL.md"]


def test_links_are_followed_and_circles_and_dead_ends_left(tmp_path: Path) -> None:
    put(tmp_path, "root/b/SKILL.md", "away/SKILL.md", "file.md")
    root = tmp_path / "root"
    (root / "a").mkdir()
    (root / "a/up").symlink_to(root)
    (root / "c").symlink_to(tmp_path / "away")
    (root / "d").symlink_to("nowhere")
    (root / "e").symlink_to("e")
    (root / "f.md").symlink_to(tmp_path / "file.md")
    assert found(root) == ["b/SKILL.md", "c/SKILL.md", "f.md"]


def test_what_is_no_regular_file_is_no_skill(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "a/SKILL.md")
    os.mkfifo(tmp_path / "pipe.md")
    put(tmp_path, "b/SKILL.md/SKILL.md")
    assert found(tmp_path) == ["b/SKILL.md/SKILL.md"]


def test_a_name_that_is_not_text_is_passed_over(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff"
    try:
        os.mkdir(odd)
    except OSError:
        pytest.skip("this file system has no such names")
    with open(odd + b"/SKILL.md", "w") as file:
        file.write("x")
    put(tmp_path, "a/SKILL.md")
    assert found(tmp_path) == ["a/SKILL.md"]


@pytest.mark.parametrize("place", ["nowhere", "file", "file/x", "a\0b"])
def test_where_there_is_no_directory_there_is_nothing(tmp_path: Path, place: str) -> None:
    put(tmp_path, "file")
    assert found(tmp_path / place) == []


def test_a_directory_that_cannot_be_listed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "a/SKILL.md", "b/SKILL.md")
    real = os.scandir

    def refuse(path: Path) -> object:
        if path == tmp_path / "a":
            raise PermissionError("no")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found(tmp_path) == ["b/SKILL.md"]


def test_one_limit_holds_for_all_directories_of_a_search(tmp_path: Path) -> None:
    put(tmp_path, "one/a/SKILL.md", "two/b/SKILL.md", "two/c/SKILL.md")
    exact = SkillWalk(max_entries=6)
    assert len(exact.skill_files(tmp_path / "one") + exact.skill_files(tmp_path / "two")) == 3
    assert exact.cut is None
    short = SkillWalk(max_entries=5)
    assert len(short.skill_files(tmp_path / "one") + short.skill_files(tmp_path / "two")) == 2
    assert short.cut == tmp_path / "two/c"
    assert short.skill_files(tmp_path / "one") == []


def test_what_is_ignored_is_not_looked_into(tmp_path: Path) -> None:
    put(tmp_path, "big/a/SKILL.md", "big/b/SKILL.md", "c/SKILL.md")
    (tmp_path / ".gitignore").write_text("big")
    walk = SkillWalk(max_entries=4)
    assert below(tmp_path, walk.skill_files(tmp_path)) == ["c/SKILL.md"]
    assert walk.cut is None


def test_too_deep_a_tree_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_tree, "MAX_DEPTH", 3)
    put(tmp_path, "a/b/SKILL.md", "c/d/e/SKILL.md", "f/g/h/SKILL.md")
    walk = SkillWalk()
    assert below(tmp_path, walk.skill_files(tmp_path)) == ["a/b/SKILL.md"]
    assert walk.cut == tmp_path / "c/d/e"
    walk = SkillWalk()
    assert below(tmp_path, walk.expand(tmp_path, "**/SKILL.md")) == []
    assert walk.cut == tmp_path / "a/b"


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        ("*", ["a", "b", "x.md"]),
        ("./*.md", ["x.md"]),
        ("*/*", ["a/link", "a/s", "b/s", "b/y.md"]),
        ("{a,b}/s", ["a/s", "b/s"]),
        ("a/**", ["a", "a/link", "a/s", "a/s/SKILL.md"]),
        ("**/SKILL.md", ["a/s/SKILL.md", "b/s/SKILL.md"]),
        ("*/link/*", ["a/link/y.md", "a/link/s"]),
        ("../*/x.md", ["x.md"]),
        (".h*/*", []),
        ("none/*", []),
    ],
)
def test_a_glob_finds_what_can_be_seen(tmp_path: Path, pattern: str, places: list[str]) -> None:
    root = tmp_path / "root"
    put(root, "a/s/SKILL.md", "b/s/SKILL.md", "b/y.md", "x.md", ".hidden/z.md", "a/.h.md")
    (root / "a/link").symlink_to(root / "b")
    walk = SkillWalk()
    found = walk.expand(root, pattern)
    assert below(root, found) == sorted(places)
    assert walk.cut is None


def test_the_kind_of_nothing_is_zero(tmp_path: Path) -> None:
    assert (mode_of(tmp_path / "x"), mode_of(tmp_path / "\0"), mode_of(tmp_path / "\ud800")) == (
        0, 0, 0,
    )  # fmt: skip
