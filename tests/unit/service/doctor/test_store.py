from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakes.healthy_place import make_run, runs_of

from pi_subagents.core.value import replace
from pi_subagents.service.doctor import store
from pi_subagents.store.run_store import place_name
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    import pytest

    from pi_subagents.system.home import CheckedPlace

A, B = "a" * 32, "b" * 32


def test_the_run_directory_is_proved_and_left_as_it_was(place: CheckedPlace) -> None:
    before = sorted(place.cwd.rglob("*"))
    check = store.check_run_dir(runs_of(place), place)
    assert check == store.RUN_DIR.ok(f"{place.cwd}/.pi/subagents/runs")
    assert sorted(place.cwd.rglob("*")) == before


def test_a_project_that_cannot_be_written_is_told_with_where_its_runs_go(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    kept = f"{place.env['PI_SUBAGENTS_DATA']}/runs/{place_name(place.cwd)}"
    assert store.check_run_dir(runs_of(place), place) == store.RUN_DIR.note(
        f"{kept}: the project {place.cwd} cannot be written, so its runs are kept there",
        "Give yourself write access to the project, if its runs should be kept in it.",
    )


def test_a_run_directory_that_cannot_be_written_is_fatal_and_left_as_it_was(
    place: CheckedPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    before = sorted(place.cwd.rglob("*"))
    monkeypatch.setattr(FileCalls, "write", staticmethod(full))
    assert store.check_run_dir(runs_of(place), place) == store.RUN_DIR.fatal(
        f"{place.cwd}/.pi cannot be written (No space left on device)",
        "Give yourself write access to it, or free disk space.",
    )
    assert sorted(place.cwd.rglob("*")) == before


def test_the_index_is_opened_and_counted(place: CheckedPlace) -> None:
    data = place.env["PI_SUBAGENTS_DATA"]
    runs = runs_of(place)
    runs.index.adopt([make_run(place, A)])
    assert store.check_index(runs, place) == store.INDEX.ok(f"1 run ({data})")


def test_a_damaged_index_is_told(place: CheckedPlace) -> None:
    data = Path(place.env["PI_SUBAGENTS_DATA"])
    data.mkdir()
    (data / "index.sqlite3").write_bytes(b"this is no database" * 100)
    check = store.check_index(runs_of(place), place)
    (damaged,) = data.glob("index.damaged-*")
    assert check == store.INDEX.note(
        f"0 runs; a damaged index was set aside and rebuilt: {damaged}",
        "`subagents doctor --reindex` in each project adopts what is still missing; then remove "
        f"{data}/index.damaged-*",
    )


def test_lost_runs_are_concluded_and_counted(place: CheckedPlace) -> None:
    runs = runs_of(place)
    lost = make_run(place, A, finished=False)
    runs.index.adopt([lost])
    assert store.check_recovery(runs) == store.RECOVERY.note(
        "1 had lost its supervisor and is now marked as interrupted",
        "Nothing to do: `subagents runs` lists them.",
    )
    result = lost.read_result()
    assert result is not None
    assert result.status == "interrupted"
    assert store.check_recovery(runs) == store.RECOVERY.ok("none")


def test_reindexing_forgets_what_is_gone_and_follows_what_moved(place: CheckedPlace) -> None:
    gone, moved = make_run(place, A), make_run(place, B)
    runs_of(place).index.adopt([gone, moved])
    shutil.rmtree(gone.path)
    place.cwd.rename(place.cwd.with_name("renamed"))
    there = replace(place, cwd=place.cwd.with_name("renamed"))
    assert store.check_unknown(runs_of(there)).state == "note"
    assert store.reindex(runs_of(there)) == store.REINDEX.ok(
        "1 run directory adopted, 1 missing one forgotten"
    )
    assert [run.path for run in runs_of(there).index.all()] == [
        there.cwd / ".pi/subagents/runs" / B
    ]
    assert store.check_unknown(runs_of(there)) == store.UNKNOWN.ok("none")


def test_worktrees_that_are_there_although_their_run_ended_are_named(place: CheckedPlace) -> None:
    env = {**place.env, "PATH": os.environ["PATH"]}
    with_git = replace(place, env=env)
    assert store.check_worktrees(runs_of(place), with_git) == store.WORKTREES.ok("none")
    kept = Path(place.env["PI_SUBAGENTS_DATA"]) / "workspaces" / "home" / "trees" / A
    kept.mkdir(parents=True)
    assert store.check_worktrees(runs_of(place), with_git) == store.WORKTREES.note(
        f"1 kept after their run:\n{kept}",
        f"To remove one with its changes: subagents discard {A[:8]}",
        public="1 kept",
    )
    nowhere = replace(place, env={**env, "PATH": str(place.cwd / "nothing")})
    assert store.check_worktrees(runs_of(place), nowhere) == store.WORKTREES.note(
        "Worktrees need git: there is no git on PATH",
        "Install it, if tasks are to have worktrees.",
    )
