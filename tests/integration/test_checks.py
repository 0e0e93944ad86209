"""Checked is what we ran ourselves, claimed is what a sub-agent says: real supervisors, fake children."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import in_json_mode, in_rpc_mode, takes_long
from tests.fakes.git_place import repository_of

from pi_subagents import Task
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.run.result import result_to_json
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

GOOD = "test -e good.txt"
TALKING = f"{sys.executable} -c 'print(\"what is wrong\"); raise SystemExit(3)'"


def task(check: str, **more: Any) -> Task:
    return Task("task", "task", check=check, **more)


@takes_long
async def test_work_that_passes_is_checked(place: Workplace) -> None:
    work = place.delegate_by_api(task(GOOD))
    child = await place.child("task")
    (place.project / "good.txt").write_text("")
    await child.answer_and_exit("done")
    result = await work.result()
    assert (result.status, result.output, result.checked) == ("completed", "done", Checked(GOOD, 0))
    assert result_to_json(result)["checked"] == {
        "passed": True, "exitCode": 0, "command": GOOD, "tail": "",
    }  # fmt: skip
    assert place.run_dir(child).read_result() == result


@in_rpc_mode
async def test_work_that_fails_is_mended_in_the_same_session(place: Workplace) -> None:
    work = place.delegate_by_api(task(GOOD))
    child = await place.child("task")
    await child.say("done, I believe")
    await child.settle()
    told = await place.child(f"Your work was checked: `{GOOD}` ended with exit code 1.")
    assert told.pid == child.pid
    (place.project / "good.txt").write_text("")
    await told.answer_and_exit("now it is")
    result = await work.result()
    assert (result.status, result.output, result.checked) == (
        "completed", "now it is", Checked(GOOD, 0),
    )  # fmt: skip


@in_rpc_mode
async def test_work_that_fails_again_has_failed_and_its_answer_is_kept(place: Workplace) -> None:
    work = place.delegate_by_api(task(TALKING))
    child = await place.child("task")
    await child.say("done")
    await child.settle()
    told = await place.child(f"Your work was checked: `{TALKING}` ended with exit code 3.")
    await told.answer_and_exit("done, really")
    result = await work.result()
    assert (result.status, result.output) == ("failed", "done, really")
    assert result.error_message == f"Its work did not pass the check: {TALKING} (exit code 3)"
    assert result.checked == Checked(TALKING, 3, "what is wrong\n")


@in_json_mode
async def test_a_child_that_cannot_be_asked_is_checked_once(place: Workplace) -> None:
    work = place.delegate_by_api(task(TALKING))
    await (await place.child("task")).answer_and_exit("done")
    result = await work.result()
    assert (result.status, result.checked) == ("failed", Checked(TALKING, 3, "what is wrong\n"))


@takes_long
async def test_no_rounds_means_no_second_try(place: Workplace) -> None:
    work = place.delegate_by_api(task("false", check_rounds=0))
    await (await place.child("task")).answer_and_exit("done")
    assert (await work.result()).status == "failed"
    assert len(place.driver.children) == 1


@takes_long
async def test_a_check_that_cannot_be_run_fails_the_task_by_name(place: Workplace) -> None:
    work = place.delegate_by_api(task("no-such-program", check_rounds=0))
    await (await place.child("task")).answer_and_exit("done")
    result = await work.result()
    assert result.status == "failed"
    assert result.checked is not None
    assert result.checked.exit_code is None
    assert "No such file or directory: 'no-such-program'" in result.checked.tail


@takes_long
async def test_what_failed_by_itself_is_not_checked(place: Workplace) -> None:
    work = place.delegate_by_api(task("true"))
    child = await place.child("task")
    await child.exit(3)
    result = await work.result()
    assert (result.status, result.checked) == ("failed", None)


@in_rpc_mode
async def test_a_stop_ends_a_check_with_all_that_it_started(place: Workplace) -> None:
    pipe, check = place.home / "began", place.project / "check.py"
    os.mkfifo(pipe)
    check.write_text(
        "import subprocess\n"
        "process = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pipe)!r}, 'w').write(str(process.pid))\n"
        "process.wait()\n"
    )
    work = place.delegate_by_api(task(f"{sys.executable} {check}"))
    child = await place.child("task")
    await child.say("done")
    child.tell("settle")
    started = int(await asyncio.to_thread(pipe.read_text))
    work.stop()
    result = await work.result()
    assert (result.status, result.output) == ("failed", "done")
    assert result.error_message.endswith("(was ended)")
    with pytest.raises(ProcessLookupError):
        os.kill(started, 0)


@takes_long
async def test_the_check_looks_at_the_worktree(place: Workplace) -> None:
    repository_of(place.project)
    work = place.delegate_by_api(task(GOOD, workspace="worktree"))
    child = await place.child("task")
    (Path(child.cwd) / "good.txt").write_text("")
    await child.answer_and_exit("done")
    result = await work.result()
    assert (result.checked, result.changes) == (
        Checked(GOOD, 0), "1 file changed, +0 \N{MINUS SIGN}0",
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong", [{"check": " "}, {"check": 1}, {"check_rounds": 6}, {"check_rounds": True}]
)
async def test_a_check_that_means_nothing_is_refused(
    place: Workplace, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        await place.delegate_by_api(Task("task", "task", **wrong)).result()
