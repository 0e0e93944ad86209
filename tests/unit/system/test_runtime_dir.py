from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import RuntimeDirUnusable
from pi_subagents.system import runtime_dir as module
from pi_subagents.system.runtime_dir import runtime_dir

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def parent() -> Iterator[Path]:
    """A short directory of our own: a test's own is too long for a socket."""
    path = Path(tempfile.mkdtemp(prefix="rt-"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def shared(parent: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the directory ends up when the wanted one cannot be used."""
    path = parent / "shared"
    path.mkdir()
    path.chmod(0o1777)
    return path


def made_in(shared: Path) -> Path:
    return shared / f"pi-subagents-{os.geteuid()}"


def test_it_is_made_in_the_users_runtime_directory(parent: Path) -> None:
    path = runtime_dir({"XDG_RUNTIME_DIR": str(parent)})
    assert path == parent / "pi-subagents"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert runtime_dir({"XDG_RUNTIME_DIR": str(parent)}) == path, "and found again"


def test_without_one_it_is_made_among_temporary_files(shared: Path) -> None:
    path = runtime_dir({"TMPDIR": str(shared)})
    assert path == made_in(shared)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("named", ["", "run", "./run"])
def test_a_relative_directory_is_not_used(shared: Path, named: str) -> None:
    assert runtime_dir({"XDG_RUNTIME_DIR": named, "TMPDIR": str(shared)}) == made_in(shared)


def test_what_others_may_look_into_is_not_used(parent: Path, shared: Path) -> None:
    (parent / "pi-subagents").mkdir()
    (parent / "pi-subagents").chmod(0o750)
    env = {"XDG_RUNTIME_DIR": str(parent), "TMPDIR": str(shared)}
    assert runtime_dir(env) == made_in(shared)


def test_a_link_or_a_file_in_its_place_is_not_used(parent: Path, shared: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(parent), "TMPDIR": str(shared)}
    (parent / "elsewhere").mkdir(0o700)
    (parent / "pi-subagents").symlink_to(parent / "elsewhere")
    assert runtime_dir(env) == made_in(shared)
    (parent / "pi-subagents").unlink()
    (parent / "pi-subagents").touch(0o600)
    assert runtime_dir(env) == made_in(shared)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_place_where_others_could_replace_it_is_not_used(
    parent: Path, shared: Path, mode: int
) -> None:
    open_to_others = parent / "open"
    open_to_others.mkdir()
    open_to_others.chmod(mode)
    env = {"XDG_RUNTIME_DIR": str(open_to_others), "TMPDIR": str(shared)}
    assert runtime_dir(env) == made_in(shared)
    assert list(open_to_others.iterdir()) == []


def test_what_belongs_to_somebody_else_is_not_used(
    parent: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime_dir({"XDG_RUNTIME_DIR": str(parent)})
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(module, "SHARED", str(shared))
    with pytest.raises(RuntimeDirUnusable) as refusal:
        runtime_dir({"XDG_RUNTIME_DIR": str(parent)})
    tried = (parent / "pi-subagents", shared / "pi-subagents-12345")
    assert refusal.value.tried == tuple(map(str, tried))


def test_a_path_that_leaves_no_room_for_a_sockets_name_is_not_used(
    parent: Path, shared: Path
) -> None:
    deep = parent / ("d" * 70)
    deep.mkdir()
    env = {"XDG_RUNTIME_DIR": str(deep), "TMPDIR": str(shared)}
    assert runtime_dir(env) == made_in(shared)
    assert list(deep.iterdir()) == []


def test_a_missing_place_is_passed_over(parent: Path, shared: Path) -> None:
    env = {"XDG_RUNTIME_DIR": str(parent / "absent"), "TMPDIR": str(shared)}
    assert runtime_dir(env) == made_in(shared)
