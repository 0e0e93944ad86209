"""The rows follow the disk: what begins, goes on, ends, dies or disappears."""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import USAGE, FleetPlace, following
from tests.fakes.open_files import open_files

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.service import fleet
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_index import RunIndex
from pi_subagents.store.run_records import directory_of
from pi_subagents.view.fleet import last_line

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "POLL_S", 0.01)


def test_a_run_is_followed_from_its_beginning_to_its_end(place: FleetPlace) -> None:
    place.finished("old")
    with following(place) as followed:
        assert {name: row.status for name, row in followed.rows().items()} == {"old": "completed"}
        run = place.going_on("new")
        followed.until(lambda rows: "new" in rows)
        run.does(ev.StateChanged("running"), ev.AssistantMessage("I look.", usage=USAGE))
        rows = followed.until(lambda rows: last_line(rows["new"]) == "I look.")
        assert (rows["new"].status, rows["new"].usage) == ("running", USAGE)
        run.ends(output="Found it.")
        rows = followed.until(lambda rows: not rows["new"].active)
        assert (rows["new"].status, last_line(rows["new"])) == ("completed", "Found it.")


def test_a_run_whose_supervisor_dies_is_interrupted(place: FleetPlace) -> None:
    with following(place) as followed:
        run = place.going_on("new")
        run.does(ev.StateChanged("running"))
        followed.until(lambda rows: "new" in rows and rows["new"].status == "running")
        run.dies()
        rows = followed.until(lambda rows: not rows["new"].active)
        assert (rows["new"].status, last_line(rows["new"])) == ("interrupted", messages.INTERRUPTED)
        assert run.run_dir.read_result() is not None  # it was recovered, as by any look


def test_a_dead_run_that_somebody_else_concludes_is_shown_as_interrupted(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever concludes it has its lock: it seems alive again, and then it is over."""
    run = place.going_on("new")
    run.does(ev.StateChanged("running"))
    looking = Fleet(place.runs, place.env)
    looking.load()
    locks: list[int] = []

    def come_too_late(_: object) -> list[object]:
        locks.append(os.open(run.run_dir.desk.lock, os.O_RDWR))
        fcntl.flock(locks[0], fcntl.LOCK_EX)
        return []

    with monkeypatch.context() as patch:
        patch.setattr(Runs, "recover", come_too_late)
        run.dies()
        looking.look()
    assert [row.status for row in looking.rows] == ["running"]
    run.run_dir.write_result(replace(run.result, status="interrupted"))
    os.close(*locks)
    assert looking.look()
    looking.release()
    assert [row.status for row in looking.rows] == ["interrupted"]


def test_a_run_that_was_planned_and_taken_back_disappears(place: FleetPlace) -> None:
    with following(place) as followed:
        run = place.going_on("new")
        followed.until(lambda rows: "new" in rows)
        run.log.close()
        run.run_dir.discard(run.lock)
        followed.until(lambda rows: "new" not in rows)


def test_a_run_that_is_removed_disappears(place: FleetPlace) -> None:
    gone = place.finished("gone")
    place.finished("kept")
    with following(place) as followed:
        shutil.rmtree(gone.path)
        rows = followed.until(lambda rows: "gone" not in rows)
        assert list(rows) == ["kept"]


def test_a_run_that_goes_on_elsewhere_is_shown_there(place: FleetPlace, tmp_path: Path) -> None:
    run = place.going_on("new")
    looking = Fleet(place.runs, place.env)
    looking.load()
    elsewhere = tmp_path / run.run_dir.run_id
    run.run_dir.path.rename(elsewhere)
    run.run_dir.desk.note_place(elsewhere)
    assert looking.look()
    looking.release()
    assert [directory_of(row).path for row in looking.rows] == [elsewhere]
    run.dies()


def test_a_store_that_goes_and_comes_again_is_heard_of_again(place: FleetPlace) -> None:
    place.finished("old")
    with following(place) as followed:
        shutil.rmtree(place.runs.store.runs_dir)
        followed.until(lambda rows: not rows)
        again = place.finished("again")
        followed.until(lambda rows: "again" in rows)
        shutil.rmtree(again.path)
        followed.until(lambda rows: not rows)


def test_the_first_run_of_a_project_is_seen(place: FleetPlace) -> None:
    with following(place) as followed:
        assert followed.rows() == {}
        place.finished("first")
        followed.until(lambda rows: "first" in rows)
        place.finished("second")
        followed.until(lambda rows: "second" in rows)


def test_the_machine_is_all_projects_that_the_index_knows(
    place: FleetPlace, tmp_path: Path
) -> None:
    other = FleetPlace(tmp_path / "other", place.env, made=100)
    (other.path / ".pi").mkdir(parents=True)
    place.finished("here")
    with following(place) as project, following(place, machine=True) as machine:
        other.finished("elsewhere")
        machine.until(lambda rows: set(rows) == {"here", "elsewhere"})
        assert set(project.rows()) == {"here"}
        shutil.rmtree(other.runs.store.runs()[0].path)
        machine.until(lambda rows: set(rows) == {"here"})


def test_only_the_newest_and_what_goes_on_are_listed(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "MAX_RUNS", 3)
    working = place.going_on("working")
    directories = [working.run_dir.path, *(place.finished(f"n{n}").path for n in range(5))]
    for age, path in enumerate(reversed(directories)):
        os.utime(path, (1000 - age, 1000 - age))
    rows = Fleet(place.runs, place.env).read_once()
    assert {row.name for row in rows} == {"n4", "n3", "n2", "working"}
    with following(place) as followed:
        place.finished("n5")
        followed.until(lambda rows: set(rows) == {"n5", "n4", "n3", "working"})
    working.ends()


def test_a_damaged_run_harms_only_itself(place: FleetPlace) -> None:
    damaged = place.finished("damaged")
    damaged.meta.write_text("{}")
    place.finished("good")
    looked = Fleet(place.runs, place.env)
    assert [row.name for row in looked.read_once()] == ["good"]
    assert list(looked.unreadable) == [damaged.path]


def test_a_run_that_ends_in_damage_disappears(place: FleetPlace) -> None:
    run = place.going_on("new")
    with following(place) as followed:
        run.log.close()
        run.run_dir.result.write_text("{}")
        os.close(run.lock)
        followed.until(lambda rows: "new" not in rows)
        assert list(followed.fleet.unreadable) == [run.run_dir.path]


def test_a_directory_that_came_from_elsewhere_is_shown_and_left_alone(place: FleetPlace) -> None:
    run = place.going_on("strange")
    place.runs.index.remove([run.run_dir.run_id])
    run.run_dir.write_meta({**run.run_dir.read_meta(), "seal": "forged"})
    run.dies()
    (row,) = Fleet(place.runs, place.env).read_once()
    assert row.status == "interrupted"
    assert not run.run_dir.result.exists()


def test_whoever_only_reads_the_index_keeps_nobody_busy(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We read it ourselves: if that was news, one look would cause the next, for ever."""
    looks: list[int] = []
    look = RunIndex.not_ended

    def counted(index: RunIndex) -> dict[RunDir, str]:
        looks.append(1)
        return look(index)

    monkeypatch.setattr(RunIndex, "not_ended", counted)
    run = place.going_on("new")
    place.runs.recover()  # what is noted at the first look of all
    for changed in (place.runs.index.path, place.runs.store.runs_dir):
        os.utime(changed, (1000, 1000))  # not just now, when more may follow
    with following(place) as followed:
        run.does(ev.Note("one"))
        followed.until(lambda rows: last_line(rows["new"]) == "one")
        before = len(looks)
        for _ in range(5):
            place.runs.index.all()
        run.does(ev.Note("two"))  # heard of after all that
        followed.until(lambda rows: last_line(rows["new"]) == "two")
        assert len(looks) == before
        run.ends()


def test_nothing_is_told_where_nothing_is_different(place: FleetPlace) -> None:
    run = place.going_on("new")
    os.utime(run.run_dir.transcript, (1000, 1000))  # not just now, when more may follow
    looking = Fleet(place.runs, place.env)
    looking.load()
    looking.look()
    before = looking.rows
    for name in ("notice.claimed", "other.log"):
        (run.run_dir.path / name).write_text("x")
        assert not looking.look()
    assert looking.rows is before
    looking.release()
    run.ends()


def test_a_transcript_that_goes_on_is_told_though_its_row_is_the_same(place: FleetPlace) -> None:
    """It is written after the journal: whoever reads it by then may have read too early."""
    run = place.going_on("new")
    with following(place) as followed:
        run.log.sync()
        before = followed.changes
        with run.run_dir.transcript.open("a") as file:
            file.write("more\n")
        followed.until(lambda _: followed.changes > before)
        assert last_line(followed.rows()["new"]) == ""
        run.ends()


def test_no_descriptor_is_left(place: FleetPlace) -> None:
    run = place.going_on("new")
    before = open_files()
    with following(place) as followed:
        run.does(ev.StateChanged("running"))
        followed.until(lambda rows: rows["new"].status == "running")
    assert Fleet(place.runs, place.env).read_once() != ()
    assert open_files() - before == {}
    run.ends()
