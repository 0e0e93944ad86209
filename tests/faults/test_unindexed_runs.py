"""A run that the index does not know is found by the next call, which looks at no other for it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from itertools import product
from typing import TYPE_CHECKING

import pytest
from tests.fakes.specs import make_spec
from tests.faults.aftermath import content
from tests.faults.records import Site, make_run, make_site, outside_of

from pi_subagents.service.runs import Runs
from pi_subagents.store.run_index import FILE_NAME, RunIndex
from pi_subagents.store.run_store import RunStore, new_run_id

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.run_dir import RunDir

STEPS = ("noted", "made", "known")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a project with a finished run, after a look at everything."""
    site = make_site(tmp_path)
    make_run(site.runs(), "finished")
    site.runs().recover()
    return site


@pytest.fixture
def hurried(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return the same, where from now on nobody may look at everything."""

    def runs(_: RunStore) -> list[RunDir]:
        raise AssertionError("every run was looked at")

    monkeypatch.setattr(RunStore, "runs", runs)
    return site


def lose(site: Site, name: str = "lost") -> RunDir:
    """Leave a run whose planner died before he made it known."""
    return make_run(site.runs(), name, finished=False, known=False)


def lose_without_note(site: Site) -> RunDir:
    """Leave one that the index has lost since, so that nothing tells of it."""
    lost = lose(site)
    site.runs().store.withdraw([lost])
    return lost


def spec_of(run: RunDir) -> RunSpec:
    return make_spec(run.run_id, "0" * 16, "task", ("pi",), "/")


def test_a_look_that_has_nothing_to_find_looks_at_no_ended_run(hurried: Site) -> None:
    assert hurried.runs().recover() == []


def test_a_run_whose_planner_died_is_found_without_a_look_at_others(hurried: Site) -> None:
    lost = [lose(hurried, "one"), lose(hurried, "two")]
    assert set(hurried.runs().recover()) == set(lost)
    assert hurried.runs().store.planned() == []
    assert hurried.runs().recover() == []


def plan(runs: Runs) -> Generator[RunDir]:
    """Plan one run as a call does; step by step, and dead as soon as nobody asks for the next."""
    run = runs.store.run_dir(new_run_id())
    seal = runs.seal(run)
    yield run
    meta = {"runId": run.run_id, "sessionId": "0" * 16, "createdAt": 7, "seal": seal}
    lock = run.begin(meta, b"")
    try:
        yield run
        assert runs.add([spec_of(run)]) == ""
        yield run
    finally:
        os.close(lock)


@pytest.mark.parametrize("looks", [*product([False, True], repeat=len(STEPS))])
@pytest.mark.parametrize("last", STEPS)
def test_wherever_a_planner_dies_and_whoever_looks_meanwhile_his_run_is_found(
    hurried: Site, last: str, looks: tuple[bool, ...]
) -> None:
    steps = plan(hurried.runs())
    for step, look in zip(STEPS, looks, strict=True):
        run = next(steps)
        if look:
            assert hurried.runs().recover() == [], "he lives"
        if step == last:
            break
    steps.close()
    found = [] if last == "noted" else [run]
    assert hurried.runs().recover() == found
    assert hurried.runs().store.planned() == ([run] if last == "noted" else [])
    assert hurried.runs().recover() == []


def test_a_call_that_makes_its_runs_known_leaves_no_note(site: Site) -> None:
    store = site.runs().store
    assert [store.planned() == [run] for run in plan(site.runs())] == [True, True, False]
    assert store.planned() == []


def test_a_run_that_could_not_be_made_known_is_found_as_soon_as_it_can(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    lost = lose(site)
    with monkeypatch.context() as patched:
        patched.setattr(RunIndex, "add", full)
        assert "database or disk is full" in site.runs().add([spec_of(lost)])
        assert site.runs().recover() == []
    assert site.runs().recover() == [lost]


def test_what_is_known_is_recovered_although_nothing_can_be_made_known(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    known = make_run(site.runs(), "known", finished=False)
    lose(site)
    monkeypatch.setattr(RunIndex, "add", full)
    assert site.runs().recover() == [known]


# Where more may be missing than is noted


def test_nothing_tells_of_a_run_without_a_note_but_a_look_at_everything(site: Site) -> None:
    lost = lose_without_note(site)
    assert site.runs().recover() == []
    assert site.runs().unknown() == []
    assert site.runs().recover() == [lost]


@pytest.mark.parametrize("look", ["a listing", "a search", "tidying", "a thorough recovery"])
def test_whoever_looks_at_everything_finds_every_run(site: Site, look: str) -> None:
    lost = lose_without_note(site)
    runs = site.runs()
    if look == "a listing":
        list(runs.newest())
    elif look == "a search":
        runs.find(lost.run_id)
    elif look == "tidying":
        runs.keep_tidy()
        runs.recover()
    else:
        runs.recover(thorough=True)
    result = lost.read_result()
    assert result is not None
    assert result.status == "interrupted"


def test_after_a_boot_everything_is_looked_at_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index's last changes are not on disk yet when the power is cut; directories are."""
    first = lose_without_note(site)
    monkeypatch.setattr("pi_subagents.service.runs.boot_id", lambda: "another boot")
    assert site.runs().recover() == [first]
    lose_without_note(site)
    assert site.runs().recover() == []


def test_where_boots_cannot_be_told_apart_everything_is_looked_at(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi_subagents.service.runs.boot_id", lambda: None)
    for _ in range(2):
        lost = lose_without_note(site)
        assert site.runs().recover() == [lost]


@pytest.mark.parametrize("replaced", ["lost", "an earlier one"])
def test_an_index_that_is_not_the_one_it_was_is_completed(site: Site, replaced: str) -> None:
    path = site.data / FILE_NAME
    earlier = shutil.copy(path, site.root / "earlier")
    lost = lose_without_note(site)
    path.rename(site.root / "index")  # which keeps its number from being given again
    if replaced == "an earlier one":
        shutil.copy(earlier, path)
    assert site.runs().recover() == [lost]


def test_a_project_that_was_away_is_looked_at_anew(site: Site) -> None:
    lost, ended = make_run(site.runs(), "lost", finished=False), make_run(site.runs(), "ended")
    away = site.project.rename(site.root / "away")
    assert Runs(site.root, site.env).recover() == []
    away.rename(site.project)
    assert site.runs().recover() == [lost]
    assert {noted.now() for noted in site.runs().index.all()} >= {lost, ended}


def test_a_project_that_moved_and_came_back_has_its_runs(site: Site) -> None:
    run = make_run(site.runs(), "run")
    site.runs().recover()
    away = site.project.rename(site.root / "away")
    assert Runs(away, site.env).reindex().adopted == 2
    away.rename(site.project)
    site.runs().recover()
    assert [noted.now() for noted in site.runs().index.starting_with(run.run_id)] == [run]


def test_another_store_in_the_place_of_one_is_looked_at(site: Site) -> None:
    lost = lose_without_note(site)
    runs_dir = site.runs().store.runs_dir
    shutil.copytree(runs_dir, site.root / "copy")
    runs_dir.rename(site.root / "before")  # which keeps its number from being given again
    (site.root / "copy").rename(runs_dir)
    assert site.runs().recover() == [lost]


@pytest.mark.parametrize("noted", [True, False])
def test_a_run_that_cannot_be_read_now_is_looked_at_again(site: Site, noted: bool) -> None:
    lost = lose(site) if noted else lose_without_note(site)
    (site.data / FILE_NAME).unlink()
    lost.desk.remove()
    meta = lost.meta.rename(site.root / "meta.json")
    lost.meta.mkdir()
    for _ in range(3):
        assert site.runs().recover() == []
    lost.meta.rmdir()
    meta.rename(lost.meta)
    assert site.runs().recover() == [lost]


def test_a_copy_is_adopted_once_the_run_it_was_made_of_is_gone(site: Site) -> None:
    """A project moved, was adopted there, and its first place was restored from a backup."""
    run = make_run(site.runs(), "run", finished=False)
    there = site.root / "there"
    shutil.copytree(site.project, site.root / "backup")
    site.project.rename(there)
    assert Runs(there, site.env).reindex().adopted == 2
    (site.root / "backup").rename(site.project)
    for _ in range(2):
        site.runs().recover()
        assert run.read_result() is None
    shutil.rmtree(there)
    assert site.runs().recover() == [run]


# Whose notes


def test_tidying_takes_back_what_was_noted_long_ago_and_never_made(site: Site) -> None:
    store = site.runs().store
    store.announce(new_run_id())
    store.announce(old := new_run_id())
    os.utime(store.planned_dir / old, (1_700_000_000, 1_700_000_000))
    site.runs().keep_tidy()
    assert old not in {run.run_id for run in store.planned() or ()}
    assert len(store.planned() or ()) == 1


def test_a_note_of_another_index_is_left_to_whoever_has_that(site: Site) -> None:
    lost = lose(site)
    other = Runs(site.project, {**site.env, "PI_SUBAGENTS_DATA": str(site.root / "other")})
    for _ in range(3):
        assert other.recover() == []
    other.keep_tidy()
    assert lost.read_result() is None
    assert site.runs().recover() == [lost]


def test_a_note_of_a_run_that_came_from_elsewhere_proves_nothing(site: Site) -> None:
    foreign = make_run(site.runs(), "foreign", finished=False, sealed=False, known=False)
    site.runs().store.announce(foreign.run_id)
    before = content(foreign.path)
    assert site.runs().recover() == []
    assert content(foreign.path) == before


@pytest.mark.parametrize("kind", ["a link", "a file", "nothing"])
def test_where_nothing_can_be_noted_everything_is_looked_at(site: Site, kind: str) -> None:
    outside = outside_of(site.root)
    before = content(outside)
    notes = site.runs().store.planned_dir
    notes.rmdir()
    if kind == "a link":
        notes.symlink_to(outside)
    elif kind == "a file":
        notes.touch()
    for _ in range(2):
        run = site.runs().store.run_dir(new_run_id())
        meta = {"runId": run.run_id, "sessionId": "0" * 16, "createdAt": 7}
        os.close(run.begin({**meta, "seal": site.runs().seal(run)}, b""))
        assert site.runs().recover() == [run]
    assert content(outside) == before
