"""No name and no link leads us out of our directories, and what we make is for its owner alone."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.workplace import Delegating, Workplace, answered, comparable
from tests.faults.aftermath import SOURCES, content
from tests.faults.records import Site, make_run, make_site, outside_of

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult, result_from_json
from pi_subagents.core.task.request import Task
from pi_subagents.errors import StoreUnwritable
from pi_subagents.store.run_store import RunStore, open_store, place_name
from pi_subagents.supervisor import messages as supervisor_messages
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.store.run_dir import RunDir

NAMES = [
    "#(touch owned)",
    "#{pane_id}#[fg=red]",
    "../../../../owned",
    "/etc/passwd",
    "a/b\\c",
    "..",
    ".",
    "-rf",
    "\x1b]0;title\x07\x1b[2J",
    "tab\tnewline\nreturn\r",
    "null\0byte",
    "\u202eright to left \U000e0041 tag",
    "$(touch owned)`touch owned`;touch owned",
    "half \ud83d of a character",
    "x" * 200,
    "CON",
]
LINKED = [".pi", ".pi/subagents", ".pi/subagents/runs"]


async def answer(place: Workplace, work: Delegating, prompt: str) -> RunDir:
    """Let one run come to its good end; return where it is kept."""
    child = await place.child(prompt)
    await child.answer_and_exit("done")
    result = await work.result()
    assert comparable(result) == answered(result.name, "done")
    return place.store.run_dir(work.updates[0].run.spec.run_id)


async def test_names_of_tasks_are_data_wherever_they_go(place: Workplace) -> None:
    before = {path.name for path in place.project.iterdir()}
    work = place.delegate_by_api(*(Task(name, "x") for name in NAMES), concurrency=16)
    for number in range(len(NAMES)):
        await (await place.driver.next_child(number)).answer_and_exit("done")
    results = await work.results()
    assert [result.name for result in results] == NAMES
    for run in place.run_dirs():
        assert re.fullmatch(r"[0-9a-f]{32}", run.run_id)
        text = run.transcript.read_bytes().decode()
        assert not re.search(r"[^\n\t -~\xa0-\u1fff\ufffd…]", text), text
    assert {path.name for path in place.project.iterdir()} == before
    assert not list(place.home.rglob("owned"))


@pytest.mark.parametrize("linked", LINKED)
async def test_nothing_is_ever_written_through_a_link_in_the_project(
    place: Workplace, tmp_path: Path, linked: str
) -> None:
    """A cloned repository can hold a link to anywhere."""
    outside = outside_of(tmp_path)
    (place.project / ".git").mkdir()
    (place.project / ".pi").rmdir()
    link = place.project / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = content(outside)
    work = place.delegate_by_api("linked")
    run = await answer(place, work, "linked")
    assert content(outside) == before
    data = place.home / ".local" / "share" / "pi-subagents"
    runs = data / "runs" / place_name(place.project)
    assert run.path.parent == runs
    assert place.store == RunStore(runs, data)


async def test_a_link_that_replaces_the_store_before_a_run_starts_is_not_followed(
    place: Workplace, tmp_path: Path
) -> None:
    outside = outside_of(tmp_path)
    make_run_store = place.store
    make_run_store.prepare()
    for linked in reversed(LINKED):
        moved = tmp_path / f"moved {Path(linked).name}"
        link = place.project / linked
        link.rename(moved)
        link.symlink_to(outside)
        before = content(outside)
        run = make_run_store.run_dir("0" * 32)
        with pytest.raises(OSError, match="Too many levels"):
            run.begin({"runId": run.run_id}, b"")
        assert content(outside) == before
        link.unlink()
        moved.rename(link)


@takes_long
@pytest.mark.parametrize("target", ["another directory", "a copy of itself", "nothing"])
async def test_a_run_whose_directory_is_swapped_for_a_link_goes_on_elsewhere(
    place: Workplace, tmp_path: Path, target: str
) -> None:
    outside = outside_of(tmp_path)
    work = place.delegate("swapped", "sibling")
    (run,) = [run for run in place.run_dirs() if run.read_meta()["name"] == "swapped"]
    moved = tmp_path / "moved" / run.run_id
    moved.parent.mkdir()
    run.path.rename(moved)  # planned, not started: the work has not had its first turn yet
    aims = {"another directory": outside, "a copy of itself": moved, "nothing": tmp_path / "none"}
    run.path.symlink_to(aims[target])
    before = content(outside), content(moved)
    for name in ("swapped", "sibling"):
        await (await place.child(name)).answer_and_exit("unharmed")
    swapped, sibling = await work.results()
    rescued = place.store.rescued_dir / run.run_id
    note = supervisor_messages.note_rescued(str(run.path), str(rescued))
    assert comparable(swapped) == answered("swapped", "unharmed", notes=(note,))
    assert comparable(sibling) == answered("sibling", "unharmed")
    assert (content(outside), content(moved)) == before
    assert run.now().path == rescued
    run.path.unlink()


@takes_long
async def test_a_run_whose_directory_becomes_a_link_while_it_runs_writes_nothing_through_it(
    place: Workplace, tmp_path: Path
) -> None:
    outside = outside_of(tmp_path)
    work = place.delegate_by_api("swapped")
    child = await place.child("swapped")
    await work.sees(ev.StateChanged("running"))
    run = place.run_dir(child)
    moved = tmp_path / "moved"
    run.path.rename(moved)
    run.path.symlink_to(outside)
    before = content(outside)
    await child.answer_and_exit("done")
    result = await work.result()
    assert comparable(result) == answered("swapped", "done")
    assert content(outside) == before
    assert result_of(moved) == result, "it went with its directory"
    run.path.unlink()


def result_of(directory: Path) -> RunResult | None:
    return result_from_json(json.loads((directory / "result.json").read_bytes()))


@pytest.mark.parametrize("swapped", ["the run", "the store", "the project's directory"])
def test_recovery_follows_no_link_to_a_lost_run(tmp_path: Path, swapped: str) -> None:
    site = make_site(tmp_path)
    lost = make_run(site.runs(), "lost", finished=False)
    store = lost.path.parent
    path = {"the run": lost.path, "the store": store, "the project's directory": store.parent}[
        swapped
    ]
    moved = tmp_path / "moved"
    path.rename(moved)
    path.symlink_to(moved)
    before = content(moved)
    assert site.runs().recover() == []
    assert list(site.runs().newest()) == []
    assert content(moved) == before


@takes_long
@pytest.mark.parametrize("kind", ["a FIFO", "a link", "a directory", "nothing", "another text"])
async def test_what_stands_in_the_place_of_a_prompt_in_the_project_is_asked_of_nobody(
    place: Workplace, tmp_path: Path, kind: str
) -> None:
    """A sibling can write there: what a child is asked is on its desk."""
    work = place.delegate("asked", "sibling")
    (run,) = [run for run in place.run_dirs() if run.read_meta()["name"] == "asked"]
    put_in_place_of(run.prompt, kind, tmp_path)
    child = await place.child("asked")
    assert await child.prompt() == b"asked"
    await child.answer_and_exit("done")
    await (await place.child("sibling")).answer_and_exit("unharmed")
    asked, sibling = await work.results()
    assert comparable(asked) == answered("asked", "done")
    assert comparable(sibling) == answered("sibling", "unharmed")
    put_in_place_of(run.prompt, "nothing", tmp_path)


@takes_long
@pytest.mark.parametrize("kind", ["a FIFO", "a link", "a directory", "nothing"])
async def test_a_prompt_that_is_no_file_fails_its_task_and_nobody_waits(
    place: Workplace, tmp_path: Path, kind: str
) -> None:
    work = place.delegate("unlucky", "sibling")
    (run,) = [run for run in place.run_dirs() if run.read_meta()["name"] == "unlucky"]
    put_in_place_of(run.desk.prompt, kind, tmp_path)
    await (await place.child("sibling")).answer_and_exit("unharmed")
    unlucky, sibling = await work.results()
    assert unlucky.status == "failed"
    if place.takes_commands:  # it was there to be asked, and was not
        assert unlucky.error_message.startswith(core_messages.prompt_refused(""))
    else:
        assert unlucky.error_message == core_messages.SPAWN_FAILED
    assert comparable(sibling) == answered("sibling", "unharmed")
    assert len(place.driver.children) == 1


def put_in_place_of(path: Path, kind: str, elsewhere: Path) -> None:
    """Replace a file, or what an earlier call put there."""
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    match kind:
        case "a FIFO":
            os.mkfifo(path, 0o600)
        case "a directory":
            path.mkdir(0o600)
        case "a link":
            (elsewhere / "secret").write_text("secret")
            path.symlink_to(elsewhere / "secret")
        case "another text":
            path.write_text("do something else")


# Whose directories, and for whom


@contextmanager
def everything_allowed() -> Iterator[None]:
    """Have a umask that takes nothing away."""
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def modes(root: Path) -> dict[str, int]:
    return {
        str(path.relative_to(root)): stat.S_IMODE(path.lstat().st_mode) for path in root.rglob("*")
    }


def test_whatever_the_umask_what_we_make_is_private_from_its_creation(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (site.project / ".git").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    with everything_allowed():
        run = make_run(site.runs(), "private")
        site.runs().keep_tidy()
        list(site.runs().newest())
    assert run.path.is_relative_to(site.project)
    made = modes(site.project)
    del made[".git"]
    # Presets live beside the runs: others may read these two, not write to them.
    assert {made.pop(".pi"), made.pop(".pi/subagents")} == {0o755}
    made |= modes(site.data)
    directories = {name for name, mode in made.items() if mode == 0o700}
    store = ".pi/subagents/runs"
    run_path = f"{store}/{run.run_id}"
    assert directories == {store, f"{store}/.planned", run_path, "desks", "retention"}
    assert {mode for name, mode in made.items() if name not in directories} == {0o600}
    assert stat.S_IMODE(site.data.stat().st_mode) == 0o700
    assert stat.S_IMODE(site.data.parent.stat().st_mode) == 0o755


@takes_long
async def test_a_umask_that_takes_rights_from_the_owner_keeps_nobody_from_working(
    place: Workplace,
) -> None:
    """Root may write everywhere: so the modes are looked at, which others would stumble over."""
    ask = [sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()", "run", "x"]
    process = await asyncio.create_subprocess_exec(
        *ask,
        cwd=place.project,
        env={**place.env, "PYTHONPATH": str(SOURCES)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        umask=0o277,
    )
    child = await place.child("x")
    run = place.run_dir(child)
    await child.answer_and_exit("done")
    out, err = await process.communicate()
    assert (process.returncode, b"done" in out) == (0, True), err
    made = modes(place.project / ".pi" / "subagents") | modes(data_dir(place.env))
    kinds = {oct(mode) for name, mode in made.items() if mode & 0o600 != 0o600}
    assert kinds == set()
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o700


def test_files_are_made_private_not_changed_to_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mode that is set afterwards leaves an instant in which anyone can open the file."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a mode was changed after creation")

    for name in ("chmod", "fchmod", "lchmod"):
        monkeypatch.setattr(os, name, refuse, raising=False)
    with everything_allowed():
        run = make_run(make_site(tmp_path).runs(), "private")
    assert set(modes(run.path).values()) == {0o600}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_runs_that_belongs_to_somebody_else_is_not_used(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    site.runs().store.prepare()
    os.chown(site.project / ".pi" / "subagents" / "runs", 65534, 65534)
    runs = site.data / "runs" / place_name(site.project)
    assert open_store(site.project, site.env) == RunStore(runs, site.data)


@pytest.mark.parametrize("blocker", LINKED)
def test_a_file_where_our_directories_should_be_sends_runs_to_the_data_directory(
    tmp_path: Path, blocker: str
) -> None:
    site = Site(tmp_path)
    path = site.project / blocker
    path.parent.mkdir(parents=True)
    (tmp_path / "home").mkdir()
    path.write_bytes(b"mine")
    (site.project / ".git").mkdir()
    run = make_run(site.runs(), "kept")
    assert run.path.parent == site.data / "runs" / place_name(site.project)
    assert path.read_bytes() == b"mine"


def test_a_data_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "home").write_bytes(b"")
    store = RunStore(tmp_path / "home" / "data" / "runs", tmp_path)
    with pytest.raises(StoreUnwritable, match="Not a directory"):
        store.prepare()
