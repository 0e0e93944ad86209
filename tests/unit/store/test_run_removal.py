from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.run_places import run_at, store_at

from pi_subagents.core.run.result import RunResult
from pi_subagents.store.retention import (
    finish_removals,
    interrupted_removals,
    kept_run,
    remove_finished,
)

if TYPE_CHECKING:
    import pytest

    from pi_subagents.store.run_dir import RunDir

A, B = "a" * 32, "b" * 32
ENDED_S = 1_700_000_000


def make(place: Path, run_id: str = A, *, finished: bool = True) -> RunDir:
    run = run_at(place / run_id)
    os.close(run.begin({"runId": run_id}, b"x" * 5000))
    if finished:
        run.write_result(RunResult(run_id=run_id, session_id="", name="n", status="completed"))
        os.utime(run.result, (ENDED_S, ENDED_S))
    return run


def taken(run: RunDir) -> int:
    return sum(path.lstat().st_blocks * 512 for path in run.path.iterdir())


def listing(place: Path) -> list[str]:
    return sorted(str(path.relative_to(place)) for path in place.rglob("*"))


def test_a_run_ended_when_its_result_was_written(tmp_path: Path) -> None:
    run = make(tmp_path)
    assert kept_run(run) == (A, ENDED_S * 1000, taken(run))
    assert taken(run) >= 5000


def test_a_run_without_a_result_is_not_over(tmp_path: Path) -> None:
    run = make(tmp_path, finished=False)
    assert kept_run(run) == (A, None, taken(run))
    assert remove_finished(run) is False
    assert run.path.is_dir()


def test_what_a_link_in_a_run_points_to_is_neither_measured_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"x" * 100_000)
    run = make(tmp_path)
    _, _, before = kept_run(run)
    (run.path / "link").symlink_to(tmp_path / "precious")
    (run.path / "file").symlink_to(tmp_path / "precious" / "file")
    _, _, size = kept_run(run)
    assert size <= before + 2 * 4096
    assert remove_finished(run) is True
    assert listing(tmp_path) == ["precious", "precious/file"]


def test_a_finished_run_goes_as_a_whole(tmp_path: Path) -> None:
    run, other = make(tmp_path), make(tmp_path, B)
    assert remove_finished(run) is True
    assert [path.name for path in tmp_path.iterdir()] == [other.run_id]


def test_a_run_whose_supervisor_lives_stays_even_with_a_result(tmp_path: Path) -> None:
    run = make(tmp_path)
    before = listing(tmp_path)
    with run.desk.lock.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert kept_run(run)[1] is None
        assert remove_finished(run) is False
    assert listing(tmp_path) == before
    assert remove_finished(run) is True


def test_a_link_in_the_place_of_a_run_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    real = make(tmp_path / "elsewhere")
    linked = run_at(tmp_path / "runs" / A)
    linked.path.symlink_to(real.path)
    before = listing(tmp_path)
    assert remove_finished(linked) is False
    assert listing(tmp_path) == before


def test_a_run_that_somebody_else_removed_is_gone(tmp_path: Path) -> None:
    assert remove_finished(run_at(tmp_path / A)) is True


def test_a_run_that_cannot_be_renamed_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path)
    before = listing(tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", refuse)
    assert remove_finished(run) is False
    assert listing(tmp_path) == before


def test_an_interrupted_removal_leaves_no_run_and_is_finished_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(shutil, "rmtree", lambda *_, **__: None)
        remove_finished(run)
    remnant = tmp_path / f".removing-{A}"
    assert not run.path.exists()
    assert interrupted_removals(store_at(tmp_path)) == [remnant]
    assert finish_removals(store_at(tmp_path)) == 1
    assert listing(tmp_path) == []


def test_a_run_that_was_never_wholly_made_goes_once_nobody_can_be_at_it(tmp_path: Path) -> None:
    young, old = tmp_path / f".making-{A}", tmp_path / f".making-{B}"
    for directory in (young, old):
        directory.mkdir()
        (directory / "prompt.md").write_text("x")
    os.utime(old, (ENDED_S, ENDED_S))
    assert finish_removals(store_at(tmp_path)) == 1
    assert listing(tmp_path) == [young.name, f"{young.name}/prompt.md"]


def test_only_what_a_removal_left_is_taken_for_that(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "precious").mkdir()
    (tmp_path / f".removing-{B}").symlink_to(tmp_path / "precious")
    (tmp_path / f".removing-{'c' * 32}").write_text("a file")
    (tmp_path / ".removing-notes").mkdir()
    before = listing(tmp_path)
    assert interrupted_removals(store_at(tmp_path)) == []
    assert finish_removals(store_at(tmp_path)) == 0
    assert listing(tmp_path) == before


def test_where_there_is_no_store_there_is_nothing_to_finish(tmp_path: Path) -> None:
    assert finish_removals(store_at(tmp_path / "absent")) == 0
