from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.golden.documented_profiles import PLACE, PROFILES

from pi_subagents.config import definition_dir
from pi_subagents.config import messages as config_messages
from pi_subagents.config.definition_dir import MAX_BYTES, read_directory
from pi_subagents.config.profile_files import PROFILES as KIND
from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
from pi_subagents.core.definitions.found import DefinitionsDir
from pi_subagents.core.profile.profile import LoadedProfile, Profile

if TYPE_CHECKING:
    from pathlib import Path

Problem = tuple[str, int, str, bool]


def write(directory: Path, file: str, *lines: str, name: str = "") -> Path:
    path = directory / file
    path.write_text("\n".join(["---", f"name: {name or path.stem}", *lines, "---", ""]))
    path.chmod(0o600)
    return path


def read(directory: Path) -> tuple[dict[str, str], list[Problem]]:
    """Return which file each name stands for, and the problems with their files."""
    found = read_directory(KIND, directory, GLOBAL)
    assert all(loaded.scope == GLOBAL for loaded in found.counting)
    counting = {each.profile.name: os.path.relpath(each.path, directory) for each in found.counting}
    return counting, [
        (os.path.relpath(each.path, directory), each.line, each.problem, each.fatal)
        for each in found.problems
    ]


def test_the_documented_examples_are_all_loaded_with_their_values_and_paths() -> None:
    found = read_directory(KIND, PLACE, PROJECT)
    by_file = sorted((str(PLACE / f"{profile.name}.md"), profile) for profile in PROFILES)
    assert found.counting == tuple(LoadedProfile(each, PROJECT, path) for path, each in by_file)
    assert [file.loaded for file in found.files] == list(found.counting)
    assert found.files[2].lines == {"name": 2, "model": 3}


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert read_directory(KIND, tmp_path / "absent", GLOBAL) == DefinitionsDir()


def test_only_visible_markdown_files_are_read(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    for name in (".hidden.md", "b.txt", "c.MD", "d.md~", "md", ".md"):
        write(tmp_path, name, name="never")
    (tmp_path / "directory.md").mkdir()
    write(tmp_path / "directory.md", "within.md")
    (tmp_path / "link.md").symlink_to(tmp_path / "directory.md")
    assert read(tmp_path) == ({"a": "a.md"}, [])


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "profiles").mkdir()
    write(tmp_path / "dotfiles", "any", "model: m", name="a")
    (tmp_path / "profiles" / "a.md").symlink_to("../dotfiles/any")
    (loaded,) = read_directory(KIND, tmp_path / "profiles", GLOBAL).counting
    path = str(tmp_path / "profiles" / "a.md")
    assert loaded == LoadedProfile(Profile("a", model="m"), GLOBAL, path)


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"---\nname: a\n", 1, core_messages.FENCE_NOT_CLOSED),
        (b"---\nname: b\nname: b\n---\n", 3, core_messages.repeated_key("name")),
        (b"---\nname: b\nx: &x [a]\ny: *x\n---\n", 3, core_messages.NO_ALIASES),
        (b'---\nname: b\n"\\e[1m": 1\n"\\e[1m": 1\n---\n', 4, '"" is set twice'),
        (b"---\nname: ../x\n---\n", 2, core_messages.field_problem("name", core_messages.NEEDS_NAME)),
        (b"---\nname: b\nnoTools: maybe\n---\n", 3, '"noTools" must be true or false'),
        (b"---\nname: b\n---\n\0", 1, core_messages.BODY_HAS_NULL),
        (b"---\nname: b\n---\n\xff", 1, "is not UTF-8 text"),
        (b"\xff\xfe-\0-\0-\0", 1, "is not UTF-8 text"),
        (b"x" * (10 * 1024 * 1024), 1, "cannot be used: larger than 262144 bytes"),
        (b"", 1, core_messages.field_problem("name", core_messages.NEEDS_NAME)),
    ],
    ids=["unclosed", "twice", "alias", "escape", "climbing", "flag", "nul", "latin", "utf-16", "huge", "empty"],
)  # fmt: skip
def test_a_broken_file_is_reported_and_hides_no_other(
    tmp_path: Path, content: bytes, line: int, problem: str
) -> None:
    (tmp_path / "b.md").write_bytes(content)
    write(tmp_path, "a.md")
    write(tmp_path, "c.md")
    expected = [("b.md", line, problem, True)]
    assert read(tmp_path) == ({"a": "a.md", "c": "c.md"}, expected)


def test_yaml_that_no_parser_reads_is_reported(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes(b"---\nname: b\0\n---\n")
    counting, [(file, _, problem, fatal)] = read(tmp_path)
    assert (counting, file, fatal) == ({}, "b.md", True)
    assert problem.startswith("not readable as YAML: ")


@pytest.mark.parametrize("kind", ["fifo", "loop", "dangling", "unreadable"])
def test_what_is_no_readable_file_is_reported_and_never_waited_for(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "b.md"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "dangling":
            path.symlink_to(tmp_path / "nowhere")
        case "unreadable":
            write(tmp_path, "b.md").chmod(0)
            if os.geteuid() == 0:
                pytest.skip("root reads everything")
    write(tmp_path, "a.md")
    counting, [(file, line, problem, fatal)] = read(tmp_path)
    assert (counting, file, line, fatal) == ({"a": "a.md"}, "b.md", 1, True)
    assert problem.startswith("cannot be used: ")
    assert str(tmp_path) not in problem or kind == "loop"


def test_a_profile_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md")
    head = path.read_text()
    path.write_text(head + "x" * (MAX_BYTES - len(head)))
    assert read(tmp_path) == ({"a": "a.md"}, [])
    path.write_text(head + "x" * (MAX_BYTES - len(head) + 1))
    assert read(tmp_path)[0] == {}


def test_line_endings_and_a_byte_order_mark_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf---\r\nname: a\r\n---\r\nOne.\r\nTwo.\r\n")
    (loaded,) = read_directory(KIND, tmp_path, GLOBAL).counting
    assert loaded.profile == Profile("a", system_prompt="One.\nTwo.")


def test_the_field_names_the_profile_and_the_file_should_be_called_like_it(tmp_path: Path) -> None:
    write(tmp_path, "other.md", name="constructor")
    problem = 'the file should be called constructor.md, after its "name"'
    assert read(tmp_path) == ({"constructor": "other.md"}, [("other.md", 2, problem, False)])


def test_of_two_files_with_one_name_the_one_called_so_counts(tmp_path: Path) -> None:
    for file in ("a.md", "n.md", "z.md"):
        write(tmp_path, file, name="n")
    problem = '"n" is the name of the profile in n.md; this file is not used'
    assert read(tmp_path) == (
        {"n": "n.md"}, [("a.md", 2, problem, True), ("z.md", 2, problem, True)],
    )  # fmt: skip


def test_of_two_files_with_one_name_otherwise_the_first_counts(tmp_path: Path) -> None:
    for file in ("b.md", "a.md"):
        write(tmp_path, file, "model: m", name="n")
    called = 'the file should be called n.md, after its "name"'
    taken = '"n" is the name of the profile in a.md; this file is not used'
    assert read(tmp_path) == ({"n": "a.md"}, [("a.md", 2, called, False), ("b.md", 2, taken, True)])
    assert len(read_directory(KIND, tmp_path, GLOBAL).files) == 2


@pytest.mark.parametrize(
    ("mode", "open_to_others"),
    [(0o600, False), (0o700, False), (0o622, False), (0o640, True), (0o604, True), (0o644, True)],
)
def test_a_key_that_others_can_read_is_reported_with_the_cure(
    tmp_path: Path, mode: int, open_to_others: bool
) -> None:
    path = write(tmp_path, "a.md", "model: m", "apiKey: sk-test-abc123")
    path.chmod(mode)
    problem = f"holds an API key, and other users may read it: chmod 600 {path}"
    expected = [("a.md", 4, problem, False)] if open_to_others else []
    assert read(tmp_path) == ({"a": "a.md"}, expected)


def test_the_cure_can_be_pasted_into_a_shell_whatever_the_file_is_called(tmp_path: Path) -> None:
    path = write(tmp_path, "a b;c.md", "apiKey: sk-test-abc123", name="x")
    path.chmod(0o644)
    problems = [problem for _, _, problem, _ in read(tmp_path)[1]]
    assert problems[0].endswith(f": chmod 600 '{path}'")


def test_a_file_without_a_key_may_be_read_by_anyone(tmp_path: Path) -> None:
    write(tmp_path, "a.md").chmod(0o644)
    assert read(tmp_path) == ({"a": "a.md"}, [])


def test_too_many_files_are_reported_and_the_first_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert definition_dir.MAX_FILES == 1000
    monkeypatch.setattr(definition_dir, "MAX_FILES", 3)
    for number in (5, 1, 3):
        write(tmp_path, f"p{number}.md")
    loaded = {f"p{number}": f"p{number}.md" for number in (1, 3, 5)}
    assert read(tmp_path) == (loaded, [])
    write(tmp_path, "p2.md")
    problem = "holds more than 3 profiles; the rest is not loaded"
    del loaded["p5"]
    assert read(tmp_path) == ({**loaded, "p2": "p2.md"}, [(".", 1, problem, True)])


def test_a_file_in_place_of_the_directory_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "agent-profiles"
    path.write_text("")
    assert read(path) == ({}, [(".", 1, "cannot be used: Not a directory", True)])


def test_a_file_name_that_is_no_text_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.md")).write_text("---\nname: a\n---\n")
    counting, [(_, line, problem, fatal)] = read(tmp_path)
    assert list(counting) == ["a"]
    assert (line, problem, fatal) == (2, config_messages.wanted_file_name("a"), False)
