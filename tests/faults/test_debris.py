"""What killed processes leave lying about is cleared away, and nothing that somebody still needs."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.processes import parent_of
from tests.fakes.workplace import answered, comparable
from tests.faults.aftermath import output_of, program
from tests.faults.crashing import POINT_VARIABLE
from tests.faults.records import Site, make_run, make_site

from pi_subagents.core.run import events as ev
from pi_subagents.service.call import Pool
from pi_subagents.service.doctor.store import check_recovery
from pi_subagents.service.runs import Runs
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.workplace import Workplace

LONG_AGO = (1_000_000_000, 1_000_000_000)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def desks(site: Site) -> list[str]:
    return sorted(path.name for path in (site.data / "desks").iterdir())


@takes_long
@pytest.mark.parametrize("point", [crash_points.DIR_MADE, crash_points.META_WRITTEN])
async def test_what_a_killed_planner_was_making_is_gone_after_the_next_look(
    place: Workplace, point: str
) -> None:
    env = {POINT_VARIABLE: point}
    async with program(
        place, "caller.py", "attached", str(place.project), "never", env=env
    ) as caller:
        await output_of(caller)
        assert caller.returncode == -signal.SIGKILL
    store = place.store
    (making,) = store.runs_dir.glob(".making-*")
    (note,) = store.planned_dir.iterdir()
    runs = Runs(place.project, place.env)
    runs.recover()
    assert making.exists(), "a planner may be slow"
    os.utime(making, LONG_AGO)
    runs.recover()
    assert not making.exists()
    assert not note.exists()
    assert list((store.data_dir / "desks").iterdir()) == []


def test_what_is_being_made_is_left_alone_whatever_the_clock_says(site: Site) -> None:
    runs = site.runs()
    runs.store.prepare()
    run = runs.store.run_dir("a" * 32)
    runs.store.announce(run.run_id)
    lock = run.begin({"runId": run.run_id}, b"")
    making = run.path.rename(run.path.with_name(f".making-{run.run_id}"))
    os.utime(making, LONG_AGO)
    site.runs().recover()
    assert making.exists()
    os.close(lock)
    site.runs().recover()
    assert not making.exists()


def test_half_written_files_of_a_lost_run_go_with_its_end(site: Site) -> None:
    lost = make_run(site.runs(), "lost", finished=False)
    for name in (".meta.json.0a1b2c3d4e5f.tmp", ".result.json.000000000000.tmp"):
        (lost.path / name).write_text("half")
    assert site.runs().recover() == [lost]
    assert [path.name for path in lost.path.iterdir() if path.name.startswith(".")] == []
    assert desks(site) == []


@pytest.mark.parametrize("noted", [True, False])
def test_what_was_half_written_after_the_result_goes_unless_another_process_may_be_writing_it(
    site: Site, *, noted: bool
) -> None:
    ended = make_run(site.runs(), "ended")
    half = ended.path / ".completion.told.0a1b2c3d4e5f.tmp"
    half.write_text("half")
    if noted:
        ended.completion.touch()
    assert site.runs().recover() == []
    assert half.exists() is not noted


def test_desks_of_runs_that_are_long_over_are_cleared_by_whoever_tidies(site: Site) -> None:
    runs = site.runs()
    ended, foreign = make_run(runs, "ended"), make_run(runs, "foreign", known=False, sealed=False)
    for run in (ended, foreign):
        run.desk.path.mkdir(exist_ok=True)
        (run.desk.path / "control").touch()
        os.utime(run.desk.path, LONG_AGO)
    runs.index.mark_ended([ended.run_id])
    check = check_recovery(site.runs())
    assert check.found == "none; removed the files of 2 that ended long ago"
    assert desks(site) == []


def test_a_desk_that_somebody_holds_is_not_cleared_however_old(site: Site) -> None:
    runs = site.runs()
    runs.store.prepare()
    run = runs.store.run_dir("a" * 32)
    lock = run.begin({"runId": run.run_id}, b"")
    os.utime(run.desk.path, LONG_AGO)
    assert site.runs().clear_desks() == 0
    assert desks(site) == [run.run_id]
    run.discard(lock)


async def test_what_a_child_that_was_kept_left_on_desks_is_cleared_after_its_supervisors_death(
    place: Workplace,
) -> None:
    place.settings(warm_children=1)
    async with Pool() as pool:
        for name in ("one", "two"):
            work = place.delegate_by_api(name, pool=pool)
            child = await place.child(name)
            await child.answer_and_exit(name)
            assert comparable(await work.result()) == answered(name, name)
        held = list((place.store.data_dir / "desks").iterdir())
        assert len(held) == 2, "its prompts and its session"
        runs = Runs(place.project, place.env)
        for desk in held:
            os.utime(desk, LONG_AGO)
        assert runs.clear_desks() == 0, "it may be asked again"
        os.kill(parent_of(child.pid), signal.SIGKILL)
        for each in place.driver.children:
            await each.gone()
    assert Runs(place.project, place.env).clear_desks() == 2


@takes_long
async def test_nothing_is_left_of_a_run_but_its_directory(place: Workplace) -> None:
    work = place.delegate_by_api("tidy")
    child = await place.child("tidy")
    await work.sees(ev.StateChanged("running"))
    before = {path.name for path in place.store.data_dir.iterdir()}
    await child.answer_and_exit("done")
    await work.result()
    ledger = {"ledger.begun", "ledger.sqlite3"}  # what was spent stands there for good
    assert {path.name for path in place.store.data_dir.iterdir()} <= before | ledger
    assert list((place.store.data_dir / "desks").iterdir()) == []
    hidden = [path.name for path in place.run_dir(child).path.iterdir() if path.name[0] == "."]
    assert hidden == []
