from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import StoreUnwritable
from pi_subagents.store.run_store import (
    RunStore,
    new_run_id,
    new_session_id,
    open_store,
    place_name,
)

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir

A, B, C = "aaaa" + "0" * 28, "aaab" + "0" * 28, "bbbb" + "0" * 28


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    store = RunStore(tmp_path / "runs", tmp_path / "data")
    store.prepare()
    return store


def make(store: RunStore, run_id: str, age: int = 0) -> RunDir:
    run = store.run_dir(run_id)
    os.close(run.begin({"runId": run_id}, b""))
    os.utime(run.path, (1_700_000_000 - age, 1_700_000_000 - age))
    return run


def test_ids_are_random_and_of_the_promised_length() -> None:
    assert re.fullmatch("[0-9a-f]{32}", new_run_id())
    assert re.fullmatch("[0-9a-f]{16}", new_session_id())
    assert len({new_run_id() for _ in range(99)} | {new_session_id() for _ in range(99)}) == 198


def test_runs_are_listed_newest_first(store: RunStore) -> None:
    old, new, middle = make(store, A, 300), make(store, B, 100), make(store, C, 200)
    assert store.runs() == [new, middle, old]


def test_what_is_no_run_directory_is_not_listed(store: RunStore, tmp_path: Path) -> None:
    run = make(store, A)
    (store.runs_dir / "notes").mkdir()
    (store.runs_dir / ("f" * 32)).write_text("a file")
    (store.runs_dir / ("e" * 32)).symlink_to(tmp_path)
    (store.runs_dir / ("A" * 32)).mkdir()
    assert store.runs() == [run]


def test_a_store_that_does_not_exist_has_no_runs(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "absent", tmp_path / "data").runs() == []


def test_a_prepared_store_is_private_and_never_offered_to_git(store: RunStore) -> None:
    store.prepare()
    assert stat.S_IMODE(store.runs_dir.stat().st_mode) == 0o700
    assert {p.name for p in store.runs_dir.iterdir()} == {".gitignore", ".planned"}
    assert stat.S_IMODE(store.planned_dir.stat().st_mode) == 0o700
    assert (store.runs_dir / ".gitignore").read_bytes() == b"*\n"


def test_a_store_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable) as refusal:
        RunStore(tmp_path / "file" / "runs", tmp_path).prepare()
    assert str(refusal.value).startswith(f"Cannot keep runs in {tmp_path}/file/runs: ")


def test_runs_live_under_the_project_root(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    store = open_store(tmp_path / "src", {"PI_SUBAGENTS_DATA": "/data"})
    assert store == RunStore(tmp_path / ".pi" / "subagents" / "runs", Path("/data"))
    assert not (tmp_path / ".pi").exists()


def test_where_the_project_cannot_be_written_runs_live_in_the_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    asked: list[Path] = []

    def access(path: Path, how: int) -> bool:
        asked.append(path)
        return False

    monkeypatch.setattr(os, "access", access)
    store = open_store(tmp_path, {"PI_SUBAGENTS_DATA": "/data"})
    assert store.runs_dir == Path("/data/runs") / place_name(tmp_path)
    assert tmp_path in asked


def test_where_pi_is_a_file_runs_live_in_the_data_directory(tmp_path: Path) -> None:
    (tmp_path / ".pi").write_text("")
    store = open_store(tmp_path, {"PI_SUBAGENTS_DATA": "/data"})
    assert store == RunStore(Path("/data/runs") / place_name(tmp_path), Path("/data"))


def test_projects_that_cannot_be_written_to_do_not_share_their_runs(tmp_path: Path) -> None:
    env = {"PI_SUBAGENTS_DATA": str(tmp_path / "data")}
    stores = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".pi").write_text("in the way")
        stores.append(open_store(tmp_path / name, env))
    one, other = stores
    one.prepare()
    (one.runs_dir / new_run_id()).mkdir()
    assert (len(one.runs()), other.runs()) == (1, [])
    assert open_store(tmp_path / "one", env) == one


def test_a_store_is_tidied_once_a_day(store: RunStore) -> None:
    assert [store.due_for_tidying(), store.due_for_tidying()] == [True, False]
    mark = store.runs_dir / ".tidied"
    os.utime(mark, (1_700_000_000, 1_700_000_000))
    assert [store.due_for_tidying(), store.due_for_tidying()] == [True, False]
    os.utime(mark, (2**33, 2**33))  # a clock that was set back must not stop it for years
    assert store.due_for_tidying() is True


def test_a_run_is_noted_until_it_is_withdrawn(store: RunStore) -> None:
    store.announce(A)
    store.announce(B)
    (store.planned_dir / "other").touch()
    assert {run.run_id for run in store.planned() or ()} == {A, B}
    assert stat.S_IMODE((store.planned_dir / A).stat().st_mode) == 0o600
    store.withdraw([store.run_dir(A), store.run_dir(C)])
    assert store.planned() == [store.run_dir(B)]


def test_notes_that_cannot_be_made_are_an_error(store: RunStore) -> None:
    store.announce(A)
    with pytest.raises(FileExistsError):
        store.announce(A)


def test_nothing_is_noted_through_a_link_or_in_a_store_that_was_never_prepared(
    store: RunStore, tmp_path: Path
) -> None:
    absent, outside = RunStore(tmp_path / "absent", tmp_path / "data"), tmp_path / "outside"
    store.planned_dir.rmdir()
    outside.mkdir()
    (outside / A).touch()
    store.planned_dir.symlink_to(outside)
    store.prepare()
    for each in (store, absent):
        each.announce(B)
        assert each.planned() is None
        each.withdraw_unmade()
    assert [path.name for path in outside.iterdir()] == [A]


def test_only_old_notes_of_runs_that_nobody_makes_are_withdrawn(store: RunStore) -> None:
    made, making, young = make(store, A), make(store, B), store.run_dir(C)
    making.path.rename(store.runs_dir / f".making-{B}")
    never = store.run_dir("d" * 32)
    for run in (made, making, young, never):
        store.announce(run.run_id)
        if run != young:
            os.utime(store.planned_dir / run.run_id, (1_700_000_000, 1_700_000_000))
    store.withdraw_unmade()
    assert {run.run_id for run in store.planned() or ()} == {A, B, C}


def test_a_store_that_is_not_there_is_not_tidied(tmp_path: Path) -> None:
    assert RunStore(tmp_path / "absent", tmp_path / "data").due_for_tidying() is False
