"""What a task does to the project costs no run its answer: directories removed, moved, emptied."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace, watch_ends
from tests.fakes.processes import parent_of
from tests.fakes.workplace import answered, comparable, expected

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.service.runs import Runs
from pi_subagents.service.steering import steer
from pi_subagents.store import messages as store_messages
from pi_subagents.store.run_records import directory_of
from pi_subagents.store.tails import JournalTail
from pi_subagents.supervisor import messages as supervisor_messages
from pi_subagents.supervisor.place import RunPlace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

pytestmark = in_both_modes


def git(place: Workplace, *arguments: str) -> None:
    argv = ("git", "-c", "init.defaultBranch=x", "-C", str(place.project), *arguments)
    subprocess.run(argv, env=place.env, check=True, capture_output=True, timeout=PATIENCE_S)


def git_clean(place: Workplace) -> None:
    git(place, "init", "-q")
    git(place, "clean", "-ffdxq")


def rm_rf_pi(place: Workplace) -> None:
    shutil.rmtree(place.project / ".pi")


def rm_rf_everything(place: Workplace) -> None:
    for path in place.project.iterdir():
        shutil.rmtree(path)


def delete_jsonl(place: Workplace) -> None:
    """As `find . -name '*.jsonl' -delete` does: the directories stay."""
    for path in place.project.rglob("*.jsonl"):
        path.unlink()


def delete_logs(place: Workplace) -> None:
    for path in place.project.rglob("*.log"):
        path.unlink()


REMOVALS = [git_clean, rm_rf_pi, rm_rf_everything, delete_jsonl, delete_logs]


def rescue_note(place: Workplace, run_id: str) -> str:
    """Return what a result says of a run that went to the data directory."""
    planned = place.project / ".pi" / "subagents" / "runs" / run_id
    return supervisor_messages.note_rescued(str(planned), str(place.store.rescued_dir / run_id))


def check_kept(place: Workplace, result: RunResult) -> RunDir:
    """Look for a run as anybody would, by its id: what was told is what is kept."""
    view = Runs(place.home, place.env).find(result.run_id)
    assert view.result == result
    run_dir = directory_of(view)
    assert run_dir.path == place.store.rescued_dir / result.run_id
    modes = {stat.S_IMODE(path.stat().st_mode) for path in run_dir.path.iterdir()}
    assert modes == {0o600}
    assert result.run_id in {each.run_id for each in place.store.runs()}, "also in its project"
    return run_dir


@pytest.mark.parametrize("remove", REMOVALS)
async def test_a_task_that_cleans_the_project_costs_nobody_an_answer(
    place: Workplace, remove: Callable[[Workplace], None]
) -> None:
    work = place.delegate_by_api("cleaner", "sibling")
    cleaner, sibling = await place.child("cleaner"), await place.child("sibling")
    for name in ("cleaner", "sibling"):
        await work.sees(ev.StateChanged("running"), name)
    await cleaner.tool("bash", {"command": "clean"})
    await work.sees(ev.ToolFinished)
    remove(place)
    await sibling.tool("bash", {"command": "make"})
    await cleaner.answer_and_exit("all clean")
    await sibling.answer_and_exit("unharmed")
    results = await work.results()
    said = [("cleaner", "all clean"), ("sibling", "unharmed")]
    for result, (name, output) in zip(results, said, strict=True):
        note = rescue_note(place, result.run_id)
        assert comparable(result) == answered(
            name,
            output,
            notes=(note,),
            message_count=4,
            tool_call_count=1,
            usage=result.usage,
        )
        run_dir = check_kept(place, result)
        journal = [entry.event for entry in JournalTail(run_dir).new_entries()]
        shown = [update.what for update in work.updates if update.run.task.name == name]
        assert journal == shown[:-1], "the caller was shown everything, and everything is kept"
        assert run_dir.prompt.read_text() == name
        assert output in run_dir.transcript.read_text()


@pytest.mark.parametrize("remove", [git_clean, rm_rf_pi])
async def test_a_directory_that_went_while_nothing_was_said_costs_no_answer(
    place: Workplace, remove: Callable[[Workplace], None]
) -> None:
    work = place.delegate_by_api("quiet")
    child = await place.child("quiet")
    await child.say("the answer")
    await child.settle()
    await work.sees(ev.Settled())
    remove(place)
    await child.exit(0)
    result = await work.result()
    assert comparable(result) == answered(
        "quiet", "the answer", notes=(rescue_note(place, result.run_id),)
    )
    check_kept(place, result)


@pytest.mark.parametrize("remove", [git_clean, rm_rf_pi])
async def test_runs_that_wait_their_turn_are_not_harmed_either(
    place: Workplace, remove: Callable[[Workplace], None]
) -> None:
    work = place.delegate_by_api("first", "second", "third", concurrency=1)
    first = await place.child("first")
    await work.sees(ev.StateChanged("running"), "first")
    remove(place)
    await first.answer_and_exit("1")
    for name in ("second", "third"):
        child = await place.child(name)
        assert await child.prompt() == name.encode()
        await child.answer_and_exit(f"answer to {name}")
    results = await work.results()
    assert [(r.status, r.output) for r in results] == [
        ("completed", "1"),
        ("completed", "answer to second"),
        ("completed", "answer to third"),
    ]
    for result in results:
        check_kept(place, result)


@pytest.mark.parametrize("pattern", ["*.lock", "*lock*", "control", "*.sock"])
async def test_deleting_locks_in_the_project_changes_nothing(
    place: Workplace, pattern: str
) -> None:
    work = place.delegate_by_api("locked")
    child = await place.child("locked")
    await work.sees(ev.StateChanged("running"))
    for path in place.project.rglob(pattern):
        path.unlink()
    runs = Runs(place.project, place.env)
    assert runs.recover() == []
    assert runs.find(child.run_id).status == "running"
    await child.echo()
    await child.answer_and_exit("still here")
    assert comparable(await work.result()) == answered("locked", "still here")


async def test_nothing_of_lock_and_orders_is_in_the_project(place: Workplace) -> None:
    work = place.delegate_by_api("watched")
    child = await place.child("watched")
    await work.sees(ev.StateChanged("running"))
    kinds = {stat.S_IFMT(path.lstat().st_mode) for path in place.project.rglob("*")}
    assert kinds == {stat.S_IFDIR, stat.S_IFREG}
    desk = place.run_dir(child).desk
    assert desk.path.is_relative_to(place.home / ".local/share/pi-subagents")
    assert stat.S_IMODE(desk.path.stat().st_mode) == 0o700
    assert stat.S_ISSOCK(desk.control.stat().st_mode)
    await child.answer_and_exit("done")
    await work.result()
    assert list(desk.path.parent.iterdir()) == [], "nothing is left of it"


# Where nothing can be kept


async def test_an_answer_reaches_its_caller_though_it_can_be_kept_nowhere(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("homeless")
    child = await place.child("homeless")
    await work.sees(ev.StateChanged("running"))
    blocker = place.store.data_dir / "rescued"
    blocker.write_text("in the way")
    rm_rf_pi(place)
    await child.answer_and_exit("the answer")
    result = await work.result()
    assert comparable(result) == answered(
        "homeless", "the answer", notes=(store_messages.NOTE_NOT_KEPT,)
    )
    blocker.unlink()


# Background runs


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


async def test_a_background_run_whose_directory_is_gone_is_listed_and_tells_its_answer(
    here: PresetPlace,
) -> None:
    run_id, child = await here.started("far away")
    await here.supervisor(run_id, child)
    rm_rf_pi(here.work)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["task"]) == ("running", "far away")
    place = str(here.work.store.rescued_dir / run_id)
    assert row["paths"]["runDir"] == place, "who looks has it look for its directory"
    await child.answer_and_exit("the answer")
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["output"]) == ("completed", "the answer")
    assert row["paths"]["runDir"] == place
    assert not here.run_dir(run_id).desk.path.exists()


async def test_a_background_run_whose_directory_is_gone_can_be_stopped(here: PresetPlace) -> None:
    run_id, child = await here.started("far away")
    await here.supervisor(run_id, child)
    rm_rf_pi(here.work)
    answer = await here.call("background_agent_stop", runId=run_id)
    (row,) = answer["details"]["runs"]
    assert (row["status"], row["errorMessage"]) == ("aborted", core_messages.STOPPED_ON_REQUEST)
    await child.gone()


async def test_a_background_run_whose_directory_is_gone_is_timed_out(here: PresetPlace) -> None:
    here.work.settings(background_timeout=1, extend_timeout_debounce=0)
    run_id, child = await here.started("far away")
    rm_rf_pi(here.work)
    await child.gone()
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["errorMessage"]) == ("failed", core_messages.timed_out(1))


async def test_the_end_of_a_background_run_whose_directory_is_gone_is_told_once(
    here: PresetPlace,
) -> None:
    run_id, child = await here.started("far away")
    await here.supervisor(run_id, child)
    rm_rf_pi(here.work)
    ends: asyncio.Queue[str] = asyncio.Queue()
    watching = asyncio.create_task(watch_ends(here.known, lambda run: ends.put_nowait(run.run_id)))
    await child.answer_and_exit("the answer")
    async with asyncio.timeout(PATIENCE_S):
        assert await ends.get() == run_id
    watching.cancel()
    again: list[str] = []
    here.known.report_ends(lambda run: again.append(run.run_id), set())
    assert again == []


async def test_a_background_run_that_lost_its_directory_and_then_its_supervisor_is_concluded(
    here: PresetPlace,
) -> None:
    run_id, child = await here.started("far away")
    supervisor = await here.supervisor(run_id, child)
    os.kill(supervisor, signal.SIGSTOP)  # it cannot see that its directory goes
    rm_rf_pi(here.work)
    os.kill(supervisor, signal.SIGKILL)
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["errorMessage"]) == ("failed", core_messages.INTERRUPTED)
    assert row["task"] == "far away"
    await child.gone()


async def test_a_run_whose_directory_is_gone_can_be_told_something(place: Workplace) -> None:
    if not place.takes_commands:
        pytest.skip("such children hear nothing")
    work = place.delegate_by_api("far away")
    child = await place.child("far away")
    await work.sees(ev.StateChanged("running"))
    rm_rf_pi(place)
    sent = asyncio.create_task(steer(child.run_id, "turn", cwd=place.project, env=place.env))
    assert await child.take_steer() == "turn"
    assert (await sent).status == "delivered"
    await child.answer_and_exit("done")
    assert (await work.result()).status == "completed"


# One fault after the other


async def test_a_directory_that_goes_again_and_again_is_replaced_once(place: Workplace) -> None:
    work = place.delegate_by_api("loop")
    child = await place.child("loop")
    await work.sees(ev.StateChanged("running"))
    for number in range(3):
        rm_rf_pi(place)
        await child.tool("bash", {"command": f"clean {number}"})
        (place.project / ".pi").mkdir()
    await child.answer_and_exit("done")
    result = await work.result()
    assert (result.status, result.output, result.tool_call_count) == ("completed", "done", 3)
    assert result.notes == (rescue_note(place, result.run_id),)
    assert list((place.project / ".pi").iterdir()) == []


async def test_a_child_that_is_kept_serves_on_though_the_project_was_cleaned(
    place: Workplace,
) -> None:
    """Its prompts and its session are on desks, which no task comes near by accident."""
    if not place.takes_commands:
        pytest.skip("such children serve one run")
    place.settings(child_mode="rpc", reuse_children=True)
    work = place.delegate_by_api("one", "two", "three", concurrency=1)
    pids = set()
    for name in ("one", "two", "three"):
        child = await place.child(name)
        pids.add(child.pid)
        if name == "two":
            rm_rf_pi(place)
        assert not child.session or os.path.exists(child.session)
        await child.answer_and_exit(name)
    assert [result.output for result in await work.results()] == ["one", "two", "three"]
    assert len(pids) == 1
    assert list((place.store.data_dir / "desks").iterdir()) == []


async def test_kill_9_of_the_supervisor_after_its_directory_went_loses_nothing_that_was_said(
    place: Workplace,
) -> None:
    work = place.delegate_by_api("unlucky")
    child = await place.child("unlucky")
    await work.sees(ev.StateChanged("running"))
    rm_rf_pi(place)
    await child.say("the answer")
    await child.settle()
    await work.sees(ev.Settled())
    os.kill(parent_of(child.pid), signal.SIGKILL)
    result = await work.result()
    assert (result.status, result.output) == ("interrupted", "the answer")
    assert result.notes == (store_messages.NOTE_HAD_ANSWERED,)
    check_kept(place, result)


async def test_a_directory_that_stands_in_the_place_of_the_planned_one_is_not_used(
    tmp_path: Path, place: Workplace
) -> None:
    place.store.prepare()
    run = place.store.run_dir("a" * 32)
    lock = run.begin({"runId": run.run_id, "name": "planned"}, b"asked")
    mark = run.mark()
    run.path.rename(tmp_path / "moved")
    run.path.mkdir()
    (run.path / "precious").write_text("x")
    made = RunPlace(run, mark)
    try:
        assert made.where.path == place.store.rescued_dir / run.run_id
        assert made.dir.read_meta()["name"] == "planned"
        assert made.where.prompt.read_bytes() == b"asked"
        result = replace(expected("planned", "failed", error_message="x"), run_id=run.run_id)
        assert made.keep_result(result, None) == made.where.read_result()
    finally:
        made.close()
        os.close(lock)
    assert [path.name for path in run.path.iterdir()] == ["precious"]
    shutil.rmtree(run.path)


async def test_a_run_of_a_caller_with_another_data_directory_is_not_called_over(
    place: Workplace,
) -> None:
    place.store.prepare()
    run = place.store.run_dir("b" * 32)
    lock = run.begin({"runId": run.run_id, "name": "n", "desk": str(run.desk.path)}, b"")
    other = {**place.env, "PI_SUBAGENTS_DATA": str(place.home / "other")}
    (view,) = Runs(place.project, other).newest()
    assert not isinstance(view, Exception)
    assert (view.status, view.active) == ("planned", True)
    run.discard(lock)


async def test_a_run_whose_desk_is_taken_away_is_not_called_lost(place: Workplace) -> None:
    work = place.delegate_by_api("deskless")
    child = await place.child("deskless")
    await work.sees(ev.StateChanged("running"))
    shutil.rmtree(place.store.data_dir / "desks")
    runs = Runs(place.project, place.env)
    assert runs.recover() == []
    assert runs.find(child.run_id).status == "running"
    await child.echo()
    await child.answer_and_exit("still here")
    result = await work.result()
    assert comparable(result) == answered("deskless", "still here")
    assert runs.find(child.run_id).result == result
