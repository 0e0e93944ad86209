"""Checked is what we ran ourselves, claimed is what a sub-agent says: real supervisors, fake children."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import in_both_modes, in_json_mode, in_rpc_mode, takes_long
from tests.fakes.git_place import repository_of

from pi_subagents import Task
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.run.result import result_to_json
from pi_subagents.errors import InvalidRequest
from pi_subagents.system import landlock

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
async def test_a_check_that_failed_is_told_though_the_child_dies_while_it_mends(
    place: Workplace,
) -> None:
    work = place.delegate_by_api(task(TALKING))
    child = await place.child("task")
    await child.say("done")
    await child.settle()
    told = await place.child(f"Your work was checked: `{TALKING}` ended with exit code 3.")
    await told.tool("bash", {"command": "make"})
    await told.exit(3)
    result = await work.result()
    assert (result.status, result.output) == ("failed", "done")
    assert result.error_message.startswith("Sub-agent exited with code 3 before it finished")
    assert result.checked == Checked(TALKING, 3, "what is wrong\n")


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


@in_both_modes
async def test_nothing_that_a_check_started_outlives_it(place: Workplace) -> None:
    check = place.project / "check.py"
    check.write_text(
        "import os, subprocess\n"
        "process = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print(process.pid, os.environ['PI_SUBAGENTS_CHILD'])\n"
    )
    work = place.delegate_by_api(task(f"{sys.executable} {check}"))
    child = await place.child("task")
    await child.answer_and_exit("done")
    result = await work.result()
    assert result.checked is not None
    assert result.checked.passed
    started, is_child = result.checked.tail.split()
    assert is_child == "1"  # what it runs was written by the child, and may not act on runs
    with pytest.raises(ProcessLookupError):
        os.kill(int(started), 0)


@pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
@takes_long
async def test_the_check_of_a_confined_child_is_confined(place: Workplace) -> None:
    outside = place.home / "outside"
    work = place.delegate_by_api(
        task(f"sh -c 'echo x > inside; echo x > {outside}'", check_rounds=0),
        confine=True,
        env={**place.env, "TMPDIR": str(place.project)},
    )
    child = await place.child("task")
    await child.answer_and_exit("done")
    result = await work.result()
    assert result.checked is not None
    assert not result.checked.passed
    assert (place.project / "inside").exists()
    assert not outside.exists()


@in_json_mode
async def test_a_stop_ends_a_check_after_the_child_as_well(place: Workplace) -> None:
    pipe = place.home / "began"
    os.mkfifo(pipe)
    work = place.delegate_by_api(task(f"sh -c 'echo $$ > {pipe}; sleep 600'"))
    child = await place.child("task")
    await child.answer_and_exit("done")
    await asyncio.to_thread(pipe.read_text)
    work.stop()
    result = await work.result()
    assert (result.status, result.output) == ("failed", "done")


@pytest.mark.parametrize(("trusted", "checked"), [(False, None), (True, Checked(GOOD, 1))])
@in_rpc_mode
async def test_the_check_of_a_projects_profile_counts_only_where_that_is_trusted(
    place: Workplace, *, trusted: bool, checked: Checked | None
) -> None:
    file = place.project / ".pi" / "agent-profiles" / "checker.md"
    file.parent.mkdir()
    file.write_text(f"---\nname: checker\ncheck: {GOOD}\n---\n")
    work = place.delegate_by_api(
        Task("task", "task", check_rounds=0), profile="checker", trust_project=trusted
    )
    child = await place.child("task")
    await child.answer_and_exit("done")
    result = await work.result()
    assert result.checked == checked
    assert any("may not set check" in note for note in result.notes) is (not trusted)


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
