from __future__ import annotations

import os
import shutil
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.fake_node import write_script
from tests.fakes.healthy_place import with_env

from pi_subagents.service.doctor import machine

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.system.home import CheckedPlace


@pytest.mark.parametrize(
    ("system", "state"),
    [("win32", "fatal"), ("darwin", "note"), ("freebsd14", "note"), ("linux", "ok")],
)
def test_each_platform_is_told_what_to_expect(system: str, state: str) -> None:
    check = machine.check_platform(system)
    assert check.state == state
    assert ("WSL" in check.fix) is (system == "win32")


def test_a_kernel_without_process_handles_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> int:
        raise OSError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert machine.check_platform("linux").state == "problem"


def test_an_old_python_cannot_delegate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "OLDEST_PYTHON", (4, 0))
    check = machine.check_python()
    assert (check.state, check.fix) == (
        "fatal",
        "Install pi-subagents with Python 4.0 or newer.",
    )


def test_little_room_is_a_problem_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")  # noqa: PYI024 - as shutil gives it
    (tmp_path / "full").mkdir()

    def disk_usage(path: Path) -> Any:
        return usage(199_000_000 if path == tmp_path / "full" else 5_000_000_000)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    assert machine.check_disk([tmp_path]) == machine.DISK.ok("5.0 GB free")
    assert machine.check_disk([tmp_path, tmp_path / "full/a/b"]) == machine.DISK.problem(
        f"199 MB free for {tmp_path}/full/a/b",
        "Free at least 200 MB there; `subagents prune` shows which old runs could go.",
    )


def test_tmux_is_optional(place: CheckedPlace, tmp_path: Path) -> None:
    without = with_env(place, PATH=str(tmp_path))
    assert machine.check_tmux(without) == machine.TMUX.note("not found; it is optional")
    tmux = write_script(tmp_path / "tmux", "")
    assert machine.check_tmux(without).found == f"{tmux} (optional)"
