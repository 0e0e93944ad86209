from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.store import sqlite_file
from pi_subagents.store.desk import Desk
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.run_index import IndexRow, RunIndex

A, B, C = "a" * 32, "ab" + "0" * 30, "c" * 32


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    return RunIndex(tmp_path / "data")


def row(run_id: str, session_id: str = "5" * 16, created_ms: int = 0) -> IndexRow:
    return run_id, session_id, f"/runs/{run_id}", created_ms, False


def place(index: RunIndex, run_id: str, directory: str = "") -> RunDir:
    """Return where the index says that a run lives."""
    desk = Desk(index.path.parent / "desks" / run_id)
    return RunDir(Path(directory or f"/runs/{run_id}"), desk)


def made(index: RunIndex, place: Path, run_id: str, *, seal: str | None = None) -> RunDir:
    run = run_at(place / run_id)
    own = index.seal(run) if seal is None else seal
    meta = {"runId": run_id, "sessionId": "5" * 16, "createdAt": 7, "seal": own}
    os.close(run.begin(meta, b""))
    return run


def test_an_index_of_version_1_is_kept_and_learns_of_background_runs(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.sqlite3")) as db, db:
        db.executescript(
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, "
            "directory TEXT NOT NULL, created_ms INTEGER NOT NULL, "
            "ended INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID; "
            f"INSERT INTO runs VALUES ('{A}', '{'5' * 16}', '/runs/a', 1, 0); "
            "PRAGMA user_version = 1;"
        )
    index = RunIndex(tmp_path)
    index.add([(B, "6" * 16, "/runs/b", 2, True)])
    first, second = place(index, A, "/runs/a"), place(index, B, "/runs/b")
    assert index.not_ended() == {first: "5" * 16, second: "6" * 16}
    assert (index.all(), index.detached()) == ([first, second], [second])
    assert [index.is_detached(each) for each in (A, B, C)] == [False, True, False]


def test_an_index_of_version_2_is_kept_and_knows_of_no_store(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "index.sqlite3")) as db, db:
        db.executescript(
            "PRAGMA journal_mode = WAL; "
            "CREATE TABLE runs (run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, "
            "directory TEXT NOT NULL, created_ms INTEGER NOT NULL, "
            "ended INTEGER NOT NULL DEFAULT 0, detached INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID; "
            f"INSERT INTO runs VALUES ('{A}', '{'5' * 16}', '/runs/{A}', 0, 1, 0); "
            "PRAGMA user_version = 2;"
        )
    index = RunIndex(tmp_path)
    assert index.knows_all(Path("/runs"), "mark") is False
    index.note_all_known(Path("/runs"), "mark")
    assert index.knows_all(Path("/runs"), "mark") is True
    assert (index.all(), index.not_ended()) == ([place(index, A)], {})


STORES = ("/runs", "/runs of another", "/r\udcffns", "/rüns")


def test_a_store_is_known_whole_for_as_long_as_its_mark_is_the_same(index: RunIndex) -> None:
    for store in STORES:
        assert index.knows_all(Path(store), "old") is False
        index.note_all_known(Path(store), "old")
        assert index.knows_all(Path(store), "old") is True
        assert index.knows_all(Path(store), "new") is False
    index.note_all_known(Path("/runs"), "new")
    known = [[index.knows_all(Path(store), m) for m in ("old", "new")] for store in STORES]
    assert known == [[False, True], *([[True, False]] * 3)]


@pytest.mark.parametrize("where", ["/runs", "/rüns", "/ru%s", "/runs/deeper"])
def test_a_store_of_which_a_run_is_gone_is_not_known_whole(index: RunIndex, where: str) -> None:
    stores = ("/runs", "/rüns", "/ru%s", "/runs/deeper")
    for store in stores:
        index.note_all_known(Path(store), "mark")
    index.add([row(A), (B, "5" * 16, f"{where}/{B}", 0, False)])
    index.remove([C])
    assert index.knows_all(Path(where), "mark") is True
    index.remove([B])
    assert [s for s in stores if not index.knows_all(Path(s), "mark")] == [where]


def test_the_directory_of_a_run_may_have_any_name(index: RunIndex) -> None:
    strange = f"/pr\udcffj\u00e9t/{A}"
    index.add([(A, "5" * 16, strange, 1, False)])
    assert index.all() == [place(index, A, strange)]
    assert index.unknown(index.all()) == []


def test_runs_are_found_by_the_beginning_of_their_id(index: RunIndex) -> None:
    index.add([row(A), row(B), row(C)])
    assert index.starting_with("a") == [place(index, A), place(index, B)]
    assert index.starting_with("ab") == [place(index, B)]
    assert index.starting_with(C) == [place(index, C)]
    assert index.starting_with("d") == []


def test_runs_are_found_by_their_session_oldest_first(index: RunIndex) -> None:
    index.add([row(A, "1" * 16, 30), row(B, "1" * 16, 10), row(C, "2" * 16, 20)])
    assert index.of_session("1" * 16) == [place(index, B), place(index, A)]


def test_an_id_that_cannot_be_encoded_has_no_runs(index: RunIndex) -> None:
    index.add([row(A)])
    for half in ("\ud83d", "\udcff"):
        assert (index.of_session(half), index.starting_with(half)) == ([], [])


def test_what_ended_or_is_gone_is_not_looked_at_again(index: RunIndex) -> None:
    index.add([row(A), row(B), row(C)])
    index.mark_ended([A])
    index.remove([B])
    index.add([row(A)])  # known already: it stays ended
    assert index.not_ended() == {place(index, C): "5" * 16}
    assert index.starting_with("a") == [place(index, A)]


def test_the_index_is_for_its_owner_alone(index: RunIndex, tmp_path: Path) -> None:
    index.add([row(A)])
    index.seal(run_at(tmp_path / A))
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "data").iterdir()}
    assert set(modes.values()) == {0o600}
    assert {"index.sqlite3", "seal.key"} <= set(modes)


def test_a_damaged_index_is_put_aside_and_begun_anew(index: RunIndex, tmp_path: Path) -> None:
    index.add([row(A)])
    for remnant in (tmp_path / "data").glob("index.sqlite3-*"):
        remnant.unlink()
    (tmp_path / "data" / "index.sqlite3").write_bytes(b"this is no database" * 100)
    assert index.not_ended() == {}
    index.add([row(B)])
    assert index.not_ended() == {place(index, B): "5" * 16}
    assert len(list((tmp_path / "data").glob("index.damaged-*"))) == 1


def test_a_first_use_waits_while_another_process_begins_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait for this lock by itself, and there is no table of ours yet."""
    path = tmp_path / "index.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda _: other.execute("COMMIT"))
        RunIndex(tmp_path).add([row(A)])
    index = RunIndex(tmp_path)
    assert index.all() == [place(index, A)]
    assert list(tmp_path.glob("index.damaged-*")) == []


def test_an_index_that_stays_in_use_is_not_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index.sqlite3"
    monkeypatch.setattr(sqlite_file, "WAIT_S", 0.0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            RunIndex(tmp_path).add([row(A)])
        assert [each.name for each in tmp_path.iterdir() if "damaged" in each.name] == []


@pytest.mark.parametrize("count", [1, 499, 500, 501, 1001])
def test_however_many_are_asked_for_only_strangers_are_unknown(index: RunIndex, count: int) -> None:
    known = [f"{number:032x}" for number in range(count)]
    index.add([*map(row, known), row(C)])
    strangers = [run_at(Path("/runs") / A), run_at(Path("/elsewhere") / C)]
    asked = [strangers[0], *(place(index, each) for each in known), strangers[1]]
    assert index.unknown(asked) == strangers


def test_our_own_directories_are_taken_back_after_a_loss(index: RunIndex, tmp_path: Path) -> None:
    ours = made(index, tmp_path, A)
    assert index.adopt_sealed([ours]) == [ours]
    assert index.adopt_sealed([ours]) == []  # known by now
    assert index.not_ended() == {place(index, A, str(ours.path)): "5" * 16}


def test_a_directory_that_came_from_elsewhere_is_never_taken_for_ours(
    index: RunIndex, tmp_path: Path
) -> None:
    foreign = made(index, tmp_path, A, seal="0" * 32)
    ours = made(index, tmp_path, B)
    (tmp_path / "clone").mkdir()
    moved = made(index, tmp_path / "clone", B, seal=index.seal(ours))  # a copy of ours, elsewhere
    unsealed = run_at(tmp_path / C)
    os.close(unsealed.begin({"runId": C}, b""))
    other_user = RunIndex(tmp_path / "other")
    assert [index.sealed(run) for run in (foreign, ours, moved, unsealed)] == [
        False, True, False, False,
    ]  # fmt: skip
    assert other_user.sealed(ours) is False
    assert index.adopt_sealed([foreign, moved, unsealed]) == []
    assert [index.foreign(run) for run in (foreign, ours, moved, unsealed)] == [
        True, False, True, True,
    ]  # fmt: skip


def test_what_cannot_be_read_may_be_ours(index: RunIndex, tmp_path: Path) -> None:
    damaged, absent, unreadable = (made(index, tmp_path, each) for each in (A, B, C))
    damaged.meta.write_bytes(b"{")
    absent.meta.unlink()
    unreadable.meta.unlink()
    unreadable.meta.mkdir()
    runs = (damaged, absent, unreadable)
    assert [index.sealed(run) for run in runs] == [True, True, True], "their desks tell"
    for run in runs:
        run.desk.remove()
    assert [index.sealed(run) for run in runs] == [False, False, False]
    assert [index.foreign(run) for run in runs] == [True, True, False]


def test_a_run_behind_a_link_is_not_where_we_made_it(index: RunIndex, tmp_path: Path) -> None:
    run = made(index, tmp_path, A)
    run.path.rename(tmp_path / "moved")
    run.path.symlink_to(tmp_path / "moved")
    assert index.sealed(run) is False
    assert index.adopt_sealed([run]) == []
