from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.fake_node import write_script

from pi_subagents.errors import TmuxNotFound, TmuxTooOld
from pi_subagents.runners.tmux_server import check_tmux, is_too_old

if TYPE_CHECKING:
    from pathlib import Path


def tmux(directory: Path, body: str) -> dict[str, str]:
    write_script(directory / "tmux", f"#!/bin/sh\n{body}\n")
    return {"PATH": str(directory)}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


@pytest.mark.parametrize(
    ("version", "too_old"),
    [
        ("tmux 3.3a", False),
        ("tmux 3.0", False),
        ("tmux 3.0-rc4", False),
        ("tmux 4.0", False),
        ("tmux next-3.5", False),
        ("tmux next-2.9", True),
        ("tmux 2.9a", True),
        ("tmux 1.8", True),
        ("tmux 10.1", False),
        ("tmux master", False),
        ("tmux openbsd-7.1", False),
        ("", False),
    ],
)
def test_only_a_version_known_to_be_old_is_too_old(version: str, too_old: bool) -> None:
    assert is_too_old(version) is too_old


@given(st.integers(0, 9999), st.integers(0, 9999), st.sampled_from(["", "a", "-rc"]))
def test_every_version_from_three_on_will_do(major: int, minor: int, rest: str) -> None:
    assert is_too_old(f"tmux {major}.{minor}{rest}") is (major < 3)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert is_too_old(text) in (True, False)


def test_a_tmux_on_path_is_found(tmp_path: Path, cwd: Path) -> None:
    env = tmux(tmp_path / "bin", '[ "$1" = -V ] && echo tmux 3.3a')
    assert check_tmux(env, cwd) == tmp_path / "bin" / "tmux"


def test_no_tmux_is_told_with_the_other_runner(tmp_path: Path, cwd: Path) -> None:
    with pytest.raises(TmuxNotFound) as refusal:
        check_tmux({"PATH": str(tmp_path)}, cwd)
    assert refusal.value.broken == ""


def test_a_tmux_inside_the_working_directory_is_not_run(cwd: Path) -> None:
    env = tmux(cwd / "bin", f"touch {cwd}/ran; echo tmux 3.3a")
    with pytest.raises(TmuxNotFound):
        check_tmux(env, cwd)
    assert not (cwd / "ran").exists()


def test_a_tmux_that_cannot_be_run_is_named(tmp_path: Path, cwd: Path) -> None:
    with pytest.raises(TmuxNotFound) as refusal:
        check_tmux(tmux(tmp_path, "exit 1"), cwd)
    assert refusal.value.broken == str(tmp_path / "tmux")


def test_an_old_tmux_is_told_by_its_version(tmp_path: Path, cwd: Path) -> None:
    with pytest.raises(TmuxTooOld) as refusal:
        check_tmux(tmux(tmp_path, "echo tmux 2.8"), cwd)
    assert refusal.value.version == "tmux 2.8"
