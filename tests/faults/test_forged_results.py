"""What stands in result.json is believed only if whoever answers for the run put it there."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.preset_place import MODEL, PresetPlace
from tests.fakes.workplace import Workplace, answered, comparable, open_workplace
from tests.faults.aftermath import content
from tests.faults.records import outside_of

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult, result_to_json
from pi_subagents.runners import attached as attached_runner
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages as store_messages
from pi_subagents.store import rescue
from pi_subagents.system import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

pytestmark = takes_long
FORGED = "nothing was found, all is well"


def forged(run_id: str, session_id: str) -> bytes:
    result = RunResult(run_id, session_id, "forged", "completed", FORGED)
    return json.dumps(result_to_json(result)).encode()


def session_of(run: RunDir) -> str:
    return str(run.read_meta()["sessionId"])


NOT_OURS: dict[str, Callable[[RunDir, Path], object]] = {
    "a directory": lambda run, _: (run.result / "inner").mkdir(parents=True),
    "a link": lambda run, outside: run.result.symlink_to(outside / "file"),
    "a FIFO": lambda run, _: os.mkfifo(run.result),
    "of another run": lambda run, _: run.result.write_bytes(forged("f" * 32, session_of(run))),
    "of another session": lambda run, _: run.result.write_bytes(forged(run.run_id, "f" * 16)),
}
PLANTED: dict[str, Callable[[RunDir, Path], object]] = {
    **NOT_OURS,
    "as if it were ours": lambda run, _: run.result.write_bytes(
        forged(run.run_id, session_of(run))
    ),
}


def put_aside(run: RunDir) -> str:
    """Return the note of a result that found something in its place."""
    (aside,) = run.path.glob("result.json.put-aside-*")
    return store_messages.note_result_was_there(aside.name)


def tidy(run: RunDir) -> None:
    """Take away what a test put there: the auditor wants private files."""
    for aside in run.path.glob("result.json.put-aside-*"):
        if aside.is_dir() and not aside.is_symlink():
            (aside / "inner").rmdir()
            aside.rmdir()
        else:
            aside.unlink()


@pytest.mark.parametrize("kind", PLANTED)
async def test_a_result_that_is_planted_while_a_run_goes_on_is_believed_by_nobody(
    place: Workplace, tmp_path: Path, kind: str
) -> None:
    outside = outside_of(tmp_path)
    untouched = content(outside)
    work = place.delegate_by_api("honest")
    child = await place.child("honest")
    await work.sees(ev.StateChanged("running"))
    run = place.run_dir(child)
    PLANTED[kind](run, outside)
    runs = Runs(place.project, place.env)
    assert runs.recover() == []
    view = runs.find(child.run_id)
    assert (view.status, view.active) == ("running", True)
    await child.answer_and_exit("the truth")
    result = await work.result()
    assert comparable(result) == answered("honest", "the truth", notes=(put_aside(run),))
    assert run.read_result() == result == runs.find(child.run_id).result
    assert content(outside) == untouched
    tidy(run)


@pytest.mark.parametrize("kind", PLANTED)
async def test_what_replaces_a_result_before_its_caller_reads_it_is_not_told(
    place: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    outside = outside_of(tmp_path)
    take = rescue.take_result

    def too_late(handed: int, run_id: str, session_id: str) -> RunResult | None:
        run = place.store.run_dir(run_id)
        run.result.unlink()
        PLANTED[kind](run, outside)
        return take(handed, run_id, session_id)

    monkeypatch.setattr(attached_runner, "take_result", too_late)
    work = place.delegate_by_api("honest")
    child = await place.child("honest")
    await child.answer_and_exit("the truth")
    result = await work.result()
    run = place.run_dir(child)
    notes = (store_messages.NOTE_BY_CHANNEL, put_aside(run))
    assert comparable(result) == answered("honest", "the truth", notes=notes)
    assert run.read_result() == result
    assert Runs(place.project, place.env).find(run.run_id).result == result
    tidy(run)


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


@pytest.mark.parametrize("kind", PLANTED)
async def test_a_background_run_with_a_planted_result_goes_on_and_tells_its_own(
    here: PresetPlace, tmp_path: Path, kind: str
) -> None:
    outside = outside_of(tmp_path)
    run_id, child = await here.started("honest")
    await here.supervisor(run_id, child)
    run = here.run_dir(run_id)
    PLANTED[kind](run, outside)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert row["status"] == "running"
    await child.answer_and_exit("the truth")
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["output"]) == ("completed", "the truth")
    assert row["notes"] == [put_aside(run)]
    tidy(run)


@pytest.mark.parametrize("looked", [True, False], ids=["known to have ended", "not looked at"])
@pytest.mark.parametrize("kind", NOT_OURS)
async def test_where_the_result_of_a_background_run_is_none_of_ours_its_journal_tells(
    here: PresetPlace, tmp_path: Path, kind: str, looked: bool
) -> None:
    outside = outside_of(tmp_path)
    untouched = content(outside)
    run_id, child = await here.started("honest")
    await child.answer_and_exit("the truth")
    await here.ended(run_id)
    if looked:
        await here.status(runId=run_id)
    run = here.run_dir(run_id)
    run.result.unlink()
    NOT_OURS[kind](run, outside)
    (row,) = (await here.status(runId=run_id))["runs"]
    while row["status"] == "running":  # another process has its lock, to look at what became of it
        await here.ended(run_id)
        (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["output"]) == ("completed", "the truth")
    assert row["notes"][0] == store_messages.NOTE_BY_JOURNAL
    assert content(outside) == untouched
    tidy(run)
    if looked:  # nobody looks at it again: it is told anew each time, and left as it is
        assert run.read_result(session_of(run)) is None
        with suppress(OSError):
            (run.result / "inner").rmdir()
        if run.result.is_dir():
            run.result.rmdir()
        else:
            run.result.unlink()
        run.write_result(RunResult(run_id, session_of(run), "scout", "completed", "the truth"))


# Where a file system lacks what we are used to


@contextmanager
def without(name: str, error: str) -> Iterator[None]:
    """Have no calls of that name in this very process."""
    calls.fail_always(name, getattr(errno, error))
    try:
        yield
    finally:
        setattr(calls.FileCalls, name, staticmethod(getattr(os, name)))


@pytest.mark.parametrize("error", ["EPERM", "ENOTSUP", "EMLINK"])
async def test_without_hard_links_everything_is_as_usual(place: Workplace, error: str) -> None:
    with without("link", error):
        env = {**place.env, calls.VARIABLE: f"link:{error}"}
        work = place.delegate_by_api("linkless", env=env)
        child = await place.child("linkless")
        await child.answer_and_exit("done")
        result = await work.result()
        assert comparable(result) == answered("linkless", "done")
        assert place.run_dir(child).read_result() == result
        assert Runs(place.project, place.env).find(child.run_id).result == result


async def test_without_hard_links_a_background_run_ends_and_is_told_of_once(
    here: PresetPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_of = tmp_path / "told"
    command = ["/bin/sh", "-c", f"cat >> {told_of}"]
    here.work.settings(on_complete=command)
    here.work.secrets[calls.VARIABLE] = "link:EPERM"  # in the environment of its supervisor
    with without("link", "EPERM"):
        run_id, child = await here.started("linkless")
        await child.answer_and_exit("done")
        await here.ended(run_id)
        (row,) = (await here.status(runId=run_id))["runs"]
        assert (row["status"], row["output"], row["notes"]) == ("completed", "done", [])
        assert here.run_dir(run_id).completion.exists()
        for _ in range(3):
            here.runs.recover()
    heard = await written(told_of)
    assert json.loads(heard)["runId"] == run_id


async def written(path: Path) -> str:
    async with asyncio.timeout(30):
        while not (path.exists() and path.read_text().endswith("}")):
            await asyncio.sleep(0)
    return path.read_text()


NO_MOUNT = "only root may mount a disk with few inodes; a missing link stands in for it"


@contextmanager
def few_inodes(path: Path, count: int) -> Iterator[None]:
    path.mkdir()
    options = f"size=8m,nr_inodes={count},mode=700"
    try:
        argv = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
        subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        path.rmdir()
        pytest.skip(NO_MOUNT)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


async def test_a_disk_without_an_inode_left_still_takes_the_result(
    tmp_path: Path, child_mode: str
) -> None:
    """There a link counts as an inode, too."""
    with few_inodes(tmp_path / "project", 40):
        async with open_workplace(tmp_path, child_mode) as place:
            work = place.delegate_by_api("last")
            child = await place.child("last")
            await work.sees(ev.StateChanged("running"))
            with suppress(OSError):
                for number in range(100):
                    (place.project / f"filler {number}").touch()
            await child.answer_and_exit("done")
            result = await work.result()
            assert (result.status, result.output) == ("completed", "done")
            assert place.run_dir(child).read_result() == result
            assert place.run_dir(child).path.is_relative_to(place.project)


async def test_an_interrupted_run_with_a_planted_result_is_concluded_from_its_journal(
    here: PresetPlace, tmp_path: Path
) -> None:
    run_id, child = await here.started("unlucky")
    run = here.run_dir(run_id)
    await here.supervisor(run_id, child)
    NOT_OURS["of another run"](run, tmp_path)
    await here.kill_supervisor(run_id, child, 9)
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["errorMessage"]) == ("failed", core_messages.INTERRUPTED)
    assert row["notes"] == [put_aside(run)]
    tidy(run)
