from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_script

from pi_subagents.system.programs import ProgramSearch, search_program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def test_the_first_runnable_file_on_path_wins(tmp_path: Path, cwd: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "tool").write_text("not executable")
    (tmp_path / "b" / "tool").mkdir(parents=True)
    wanted = write_script(tmp_path / "c" / "tool", "")
    write_script(tmp_path / "d" / "tool", "")
    env = {"PATH": ":".join(str(tmp_path / name) for name in "abcd")}
    assert search_program("tool", env, cwd) == ProgramSearch(wanted, ())


@pytest.mark.parametrize(
    "entry", ["", ".", "bin", "node_modules/.bin", "../project/bin", "../tools"]
)
def test_relative_and_empty_path_entries_are_never_used(cwd: Path, entry: str) -> None:
    inside = write_script(cwd / entry / "tool", "")
    assert search_program("tool", {"PATH": entry}, cwd) == ProgramSearch(None, (inside,))


def test_a_directory_inside_the_working_directory_is_left_out(tmp_path: Path, cwd: Path) -> None:
    inside = write_script(cwd / "node_modules" / ".bin" / "tool", "")
    outside = write_script(tmp_path / "bin" / "tool", "")
    env = {"PATH": f"{inside.parent}:{outside.parent}"}
    assert search_program("tool", env, cwd) == ProgramSearch(outside, (inside,))


def test_a_link_from_outside_into_the_working_directory_is_left_out(
    tmp_path: Path, cwd: Path
) -> None:
    real = write_script(cwd / "build" / "tool", "")
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "tool"
    link.symlink_to(real)
    env = {"PATH": str(link.parent)}
    assert search_program("tool", env, cwd) == ProgramSearch(None, (link,))


def test_a_link_inside_the_working_directory_is_left_out_wherever_it_leads(
    tmp_path: Path, cwd: Path
) -> None:
    real = write_script(tmp_path / "bin" / "tool", "")
    (cwd / "tool").symlink_to(real)
    env = {"PATH": f"{cwd}:{real.parent}"}
    assert search_program("tool", env, cwd) == ProgramSearch(real, (cwd / "tool",))


def test_a_link_to_the_working_directory_does_not_hide_it(tmp_path: Path, cwd: Path) -> None:
    write_script(cwd / "tool", "")
    alias = tmp_path / "alias"
    alias.symlink_to(cwd)
    env = {"PATH": str(alias)}
    assert search_program("tool", env, cwd) == ProgramSearch(None, (alias / "tool",))


def test_a_sibling_whose_name_begins_alike_is_outside(tmp_path: Path, cwd: Path) -> None:
    sibling = write_script(tmp_path / "project-tools" / "tool", "")
    env = {"PATH": str(sibling.parent)}
    assert search_program("tool", env, cwd) == ProgramSearch(sibling, ())
