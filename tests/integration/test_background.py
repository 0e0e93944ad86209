"""Background runs go on whatever becomes of who started them, and are told truly by anybody."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.driver import FAKE_PI, PATIENCE_S
from tests.fakes.fake_control import FakeControl
from tests.fakes.preset_place import MODEL, OTHER_MODEL, PROMPT, PresetPlace, counts, text_of
from tests.fakes.specs import make_order, make_spec

import pi_subagents
from pi_subagents.api import call_tool
from pi_subagents.core import messages as core_messages
from pi_subagents.core.run.record import Liveness
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.usage import usage_to_json
from pi_subagents.errors import (
    BackgroundRunNotFound,
    IndexUnreadable,
    RunAmbiguous,
    RunNotActive,
)
from pi_subagents.runners.supervisor_start import order_line, start_supervisor
from pi_subagents.service import messages as service_messages
from pi_subagents.store import orders
from pi_subagents.store.desk import SUPERVISOR
from pi_subagents.store.orders import Stopped, Stopping
from pi_subagents.store.run_index import RunIndex
from pi_subagents.store.run_records import load_record
from pi_subagents.store.run_store import new_run_id
from pi_subagents.view import messages as view_messages
from pi_subagents.view.inline_answers import facts

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

STARTER = Path(__file__).parents[1] / "fakes" / "background_starter.py"
SOURCES = Path(pi_subagents.__file__).parents[1]
INTERRUPTED = "Session was interrupted (main agent session ended unexpectedly)"
ARTIFACTS = {
    "meta": "meta.json",
    "events": "events.jsonl",
    "result": "result.json",
    "stdout": "stdout.log",
    "stderr": "stderr.log",
    "transcript": "transcript.log",
    "childSession": "child-session.jsonl",
    "systemPrompt": "system-prompt.md",
}


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}", "tools: read,grep")
    return made


def statuses(details: dict[str, Any]) -> dict[str, str]:
    return {run["task"]: run["status"] for run in details["runs"]}


# Starting, and how a run is told


async def test_a_start_returns_while_its_run_goes_on(here: PresetPlace) -> None:
    answer = await here.call("background_agent", preset="scout", task="look around")
    details = answer["details"]
    run_id = details["runId"]
    assert not answer["isError"]
    assert text_of(answer) == view_messages.background_started("scout", run_id)
    assert (details["status"], details["counts"]) == ("running", counts(running=1))
    place = str(here.run_dir(run_id).path)
    assert details["paths"] == {
        "runDir": place,
        **{key: f"{place}/{name}" for key, name in ARTIFACTS.items()},
    }
    child = await here.work.child("look around")
    assert child.run_id == run_id
    await child.answer_and_exit("nothing to see")
    await here.ended(run_id)


@in_both_modes
async def test_a_child_gets_what_its_preset_says_and_a_session_of_its_own(
    here: PresetPlace,
) -> None:
    run_id, child = await here.started("look around")
    directory = here.run_dir(run_id)
    options = " ".join(child.arguments)
    assert child.session == str(directory.desk.child_session)
    assert f"--append-system-prompt {directory.desk.path}/system-prompt.md" in options
    assert "--tools read,grep" in options
    assert f"--model {MODEL}" in options
    assert directory.system_prompt.read_text() == PROMPT
    await child.answer_and_exit("done")
    await here.ended(run_id)
    meta = directory.read_meta()
    heard = ("preset", "presetSource", "tools", "systemPrompt", "systemPromptPath", "attached")
    assert {key: meta[key] for key in (*heard, "requestedModel", "resolvedModel")} == {
        "preset": "scout",
        "presetSource": "global",
        "tools": ["read", "grep"],
        "systemPrompt": PROMPT,
        "systemPromptPath": str(directory.system_prompt),
        "attached": False,
        "requestedModel": MODEL,
        "resolvedModel": MODEL,
    }
    names = {path.name for path in directory.path.iterdir()}
    assert names >= set(ARTIFACTS.values())


async def test_a_calls_model_counts_before_the_presets(here: PresetPlace) -> None:
    details = await here.start("look", model="fake-2")
    assert (details["requestedModel"], details["resolvedModel"]) == ("fake-2", OTHER_MODEL)
    child = await here.work.child("look")
    assert f"--model {OTHER_MODEL}" in " ".join(child.arguments)
    await child.answer_and_exit("done")
    await here.ended(details["runId"])


@pytest.mark.parametrize(
    ("settings", "limit"), [("{}", 86_400), ('{"background_timeout": 0}', None)]
)
async def test_a_run_has_a_day_unless_the_setting_says_none(
    here: PresetPlace, settings: str, limit: float | None
) -> None:
    here.settings(f'{{"subagents": {settings}}}')
    run_id, child = await here.started("patient")
    assert here.run_dir(run_id).read_meta()["timeoutS"] == limit
    await child.answer_and_exit("done")
    await here.ended(run_id)


async def test_a_run_ends_at_the_time_out_that_is_set(here: PresetPlace) -> None:
    here.settings('{"subagents": {"background_timeout": 1, "extend_timeout_debounce": 0}}')
    run_id, _ = await here.started("hasty")
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["errorMessage"]) == ("failed", core_messages.timed_out(1))


async def test_a_relative_directory_is_below_the_callers(here: PresetPlace) -> None:
    (here.work.project / "sub").mkdir()
    details = await here.start("below", cwd="sub")
    child = await here.work.child("below")
    assert child.cwd == details["cwd"] == str(here.work.project / "sub")
    await child.answer_and_exit("done")
    await here.ended(details["runId"])


async def test_a_run_whose_directory_is_missing_has_failed_when_the_start_returns(
    here: PresetPlace,
) -> None:
    missing = str(here.work.project / "missing")
    answer = await here.call("background_agent", preset="scout", task="nowhere", cwd="missing")
    details = answer["details"]
    problem = service_messages.cwd_missing(missing)
    assert (details["status"], details["counts"]) == ("failed", counts(failed=1))
    assert details["errorMessage"] == problem
    assert text_of(answer) == view_messages.background_not_started(
        "scout", details["runId"], problem
    )
    assert here.work.driver.processes == []


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        (
            {"preset": "stranger", "task": "t"},
            'Unknown preset: "stranger". Available presets: scout',
        ),
        ({"preset": "scout", "task": " "}, "task: must not be empty"),
        ({"preset": "scout", "task": "t", "cwd": "../x"}, "cwd must not contain '..'"),
        ({"preset": "scout", "task": "t", "model": "gpt-9"}, 'Model "gpt-9" is not available'),
        ({"preset": "scout", "task": "t", "chain": []}, 'parameters: unknown field "chain"'),
    ],
)
async def test_what_cannot_be_started_is_refused_and_leaves_nothing(
    here: PresetPlace, parameters: dict[str, Any], refusal: str
) -> None:
    assert (await here.refusal("background_agent", **parameters)).startswith(refusal)
    assert here.work.run_dirs() == []
    assert (await here.status())["counts"] == counts()


async def test_a_preset_without_a_model_needs_one_in_the_call(here: PresetPlace) -> None:
    here.preset("plain")
    refusal = await here.refusal("background_agent", preset="plain", task="t")
    assert str(here.presets / "plain.md") in refusal


async def test_a_run_that_nobody_could_find_again_is_not_started(here: PresetPlace) -> None:
    nowhere = here.work.home / "file"
    nowhere.touch()
    answer = await call_tool(
        "background_agent",
        {"preset": "scout", "task": "t"},
        cwd=here.work.project,
        env={**here.work.env, "PI_SUBAGENTS_DATA": str(nowhere / "data")},
    )
    assert text_of(answer).startswith("Background run not started: nobody could find it again, ")
    assert here.work.run_dirs() == []
    assert here.work.driver.processes == []


async def test_an_index_that_cannot_be_read_is_not_told_as_no_runs(
    here: PresetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, child = await here.started("goes on")

    def fails(_: RunIndex) -> NoReturn:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(RunIndex, "detached", fails)
        expected = str(IndexUnreadable(str(here.runs.index.path), "disk I/O error"))
        assert await here.refusal("background_agent_status") == expected
        assert await here.refusal("background_agent_stop", runId=run_id) == expected
        another, second = await here.started("is told of, since it began")
    for run, each in ((run_id, child), (another, second)):
        await each.answer_and_exit("done")
        await here.ended(run)


async def test_a_sub_agent_starts_no_background_runs(here: PresetPlace) -> None:
    answer = await call_tool(
        "background_agent",
        {"preset": "scout", "task": "t"},
        cwd=here.work.project,
        env={**here.work.env, "PI_SUBAGENTS_CHILD": "1"},
    )
    assert answer["isError"]
    assert here.work.run_dirs() == []


# Status


async def test_a_run_is_told_while_it_works_and_after_it_ended(here: PresetPlace) -> None:
    run_id, child = await here.started("count the files")
    await here.supervisor(run_id, child)
    now = await here.status()
    (row,) = now["runs"]
    assert now["counts"] == counts(running=1)
    expected = {
        "runId": run_id,
        "preset": "scout",
        "task": "count the files",
        "cwd": str(here.work.project),
        "requestedModel": MODEL,
        "resolvedModel": MODEL,
        "status": "running",
        "finishedAt": None,
        "output": "",
        "errorMessage": None,
        "exitCode": None,
    }
    assert {key: row[key] for key in expected} == expected
    assert row["createdAt"] <= row["startedAt"]
    await child.say("12 files", tokens=3)
    await child.settle()
    await child.exit(0)
    await here.ended(run_id)
    assert await here.status() == {"counts": counts(completed=1), "runs": []}
    (ended,) = (await here.status(includeCompleted=True))["runs"]
    result = here.run_dir(run_id).read_result()
    assert result is not None
    changed = {
        "status": "completed",
        "startedAt": result.started_at_ms,
        "finishedAt": result.finished_at_ms,
        "durationMs": result.duration_ms,
        "output": "12 files",
        "exitCode": 0,
        "stopReason": "stop",
        "model": result.model_used,
        "usage": usage_to_json(result.usage),
    }
    assert ended == {**row, **changed}
    assert (await here.status(runId=run_id))["runs"] == [ended]
    assert (await here.status(runId=run_id[:8]))["runs"] == [ended]
    heard = await here.call("background_agent_status", runId=run_id)
    assert text_of(heard) == (
        f"bg: 0 running / 1 total\n"
        f"completed scout {run_id[:8]} (session: {row['sessionId'][:8]}): count the files\n"
        f"{facts(result.model_used, result.usage)}\n\n12 files"
    )


async def test_a_child_that_fails_is_a_failed_run(here: PresetPlace) -> None:
    run_id, child = await here.started("doomed")
    await child.stderr("no such model\n")
    await child.exit(3)
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["exitCode"]) == ("failed", 3)
    assert row["errorMessage"] == "Sub-agent exited with code 3 without an answer: no such model"


async def test_an_unknown_id_is_an_error_and_so_is_the_beginning_of_several(
    here: PresetPlace,
) -> None:
    for tool in ("background_agent_status", "background_agent_stop"):
        assert await here.refusal(tool, runId="abc") == str(BackgroundRunNotFound("abc"))
    ids: list[str] = []
    while len({run_id[0] for run_id in ids}) == len(ids):  # at most 17: there are 16 hex digits
        details = await here.start(f"nowhere {len(ids)}", cwd="missing")
        ids.append(details["runId"])
    first = ids[-1][0]
    refusal = await here.refusal("background_agent_status", runId=first)
    heading, *candidates = refusal.splitlines()
    assert heading == str(RunAmbiguous(first, ())).rstrip()
    both = {run_id[:8] for run_id in ids if run_id[0] == first}
    assert both <= {line.split()[0] for line in candidates}  # beside sessions that begin so


# Waiting


async def test_a_wait_for_one_run_ends_with_that_run(here: PresetPlace) -> None:
    slow_id, slow = await here.started("slow")
    quick_id, quick = await here.started("quick")
    waiting = asyncio.create_task(here.status(runId=slow_id, waitSeconds=PATIENCE_S))
    await quick.answer_and_exit("first")
    await here.ended(quick_id)
    await here.status(runId=slow_id, waitSeconds=0.3)  # time enough for the other to look as well
    assert not waiting.done()
    await slow.answer_and_exit("at last")
    async with asyncio.timeout(PATIENCE_S):
        (row,) = (await waiting)["runs"]
    assert (row["runId"], row["output"]) == (slow_id, "at last")


async def test_a_wait_for_any_run_ends_with_the_first(here: PresetPlace) -> None:
    slow_id, slow = await here.started("slow")
    _, quick = await here.started("quick")
    waiting = asyncio.create_task(here.status(includeCompleted=True, waitSeconds=PATIENCE_S))
    await slow.echo()
    assert not waiting.done()
    await quick.answer_and_exit("first")
    async with asyncio.timeout(PATIENCE_S):
        details = await waiting
    assert statuses(details) == {"slow": "running", "quick": "completed"}
    await slow.answer_and_exit("at last")
    await here.ended(slow_id)


async def test_a_wait_is_over_when_its_time_is_up_or_there_is_nothing_to_wait_for(
    here: PresetPlace,
) -> None:
    async with asyncio.timeout(PATIENCE_S):
        assert await here.status(waitSeconds=3600) == {"counts": counts(), "runs": []}
    run_id, child = await here.started("slow")
    assert (await here.status(waitSeconds=0.05))["counts"] == counts(running=1)
    await child.answer_and_exit("at last")
    await here.ended(run_id)
    async with asyncio.timeout(PATIENCE_S):
        (row,) = (await here.status(runId=run_id, waitSeconds=3600))["runs"]
    assert row["status"] == "completed"


async def test_a_lost_run_does_not_keep_anybody_waiting(here: PresetPlace) -> None:
    run_id, child = await here.started("orphan")
    waiting = asyncio.create_task(here.status(runId=run_id, waitSeconds=3600))
    await here.kill_supervisor(run_id, child, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        (row,) = (await waiting)["runs"]
    assert (row["status"], row["errorMessage"]) == ("failed", INTERRUPTED)


@pytest.mark.parametrize("tool", ["get_subagent_output", "background_agent_status"])
async def test_a_wait_ends_when_the_caller_stops_and_says_what_is_known(
    here: PresetPlace, tool: str
) -> None:
    run_id, child = await here.started("slow")
    key = {"runId": run_id}
    if tool == "get_subagent_output":
        key = {"sessionId": (await here.status())["runs"][0]["sessionId"]}
    stop = StopSwitch()
    where = here.work
    asked = call_tool(
        tool, {**key, "waitSeconds": 3600}, cwd=where.project, env=where.env, stop=stop
    )
    waiting = asyncio.create_task(asked)
    await child.echo()
    assert not waiting.done()
    stop.stop()
    async with asyncio.timeout(PATIENCE_S):
        answer = await waiting
    assert not answer["isError"]
    assert '"status": "running"' in json.dumps(answer["details"])
    await child.answer_and_exit("at last")
    await here.ended(run_id)


# Stopping


async def test_one_run_can_be_stopped_and_the_others_go_on(here: PresetPlace) -> None:
    chosen_id, chosen = await here.started("chosen")
    other_id, other = await here.started("other")
    await here.supervisor(chosen_id, chosen)
    answer = await here.call("background_agent_stop", runId=chosen_id)
    assert answer["details"]["counts"] == counts(running=1, aborted=1)
    (row,) = answer["details"]["runs"]
    assert (row["runId"], row["status"]) == (chosen_id, "aborted")
    assert row["errorMessage"] == core_messages.STOPPED_ON_REQUEST
    assert text_of(answer).startswith("Stopped 1 background run.\nbg: 1 running / 2 total\n")
    await chosen.gone()
    await other.answer_and_exit("undisturbed")
    await here.ended(other_id)
    assert await here.refusal("background_agent_stop", runId=other_id) == str(
        RunNotActive(other_id, "completed")
    )


async def test_all_runs_can_be_stopped_at_once(here: PresetPlace) -> None:
    children = [(await here.started(f"task {number}"))[1] for number in range(4)]
    await children[0].fork_setsid()
    grandchild = await here.work.driver.grandchild()
    answer = await here.call("background_agent_stop")
    assert answer["details"]["counts"] == counts(aborted=4)
    assert statuses(answer["details"]) == {f"task {n}": "aborted" for n in range(4)}
    for process in (*children, grandchild):
        await process.gone()
    again = await here.call("background_agent_stop")
    assert text_of(again) == "Stopped 0 background runs.\nbg: 0 running / 4 total"


async def test_a_run_that_hears_no_order_spares_no_other(
    here: PresetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf, deaf_child = await here.started("deaf")
    hears, _ = await here.started("hears")
    here.run_dir(deaf).desk.control.unlink()
    monkeypatch.setattr(orders, "ANSWER_LIMIT_S", 0.2)
    details = (await here.call("background_agent_stop"))["details"]
    assert {run["runId"]: run["status"] for run in details["runs"]} == {
        deaf: "running",
        hears: "aborted",
    }
    await deaf_child.answer_and_exit("done")
    await here.ended(deaf)


async def test_a_stop_that_comes_right_after_the_start_leaves_nothing(here: PresetPlace) -> None:
    """Wherever the supervisor is by then: not yet there, starting, or at work."""
    for number in range(12):
        details = await here.start(f"short-lived {number}")
        answer = await here.call("background_agent_stop", runId=details["runId"])
        (row,) = answer["details"]["runs"]
        assert (row["status"], row["errorMessage"]) == ("aborted", core_messages.STOPPED_ON_REQUEST)
        assert not here.run_dir(details["runId"]).alive()
    for child in here.work.driver.children:
        await child.gone()


async def test_a_supervisor_that_finds_its_run_stopped_starts_no_child(here: PresetPlace) -> None:
    """The stop came when it was on its way and did not listen yet."""
    here.work.store.prepare()
    run_dir = here.run_dir(new_run_id())
    lock = run_dir.begin({"runId": run_dir.run_id}, b"")
    assert here.runs.stop(load_record(run_dir, Liveness.ALIVE), force=False).status == "aborted"
    before = run_dir.result.read_bytes()
    spec = make_spec(run_dir.run_id, "s", "n", FAKE_PI, str(here.work.project), attached=False)
    order = make_order(spec, str(run_dir.path), desk=str(run_dir.desk.path), lock_fd=lock)
    supervisor = start_supervisor(here.work.env, lock_fd=lock)
    os.close(lock)
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    with supervisor.stdin as stdin, supervisor.stdout:
        stdin.write(order_line(order))
    assert await asyncio.to_thread(supervisor.wait, PATIENCE_S) == 1
    assert here.work.driver.processes == []
    assert run_dir.result.read_bytes() == before
    assert not run_dir.events.exists()


async def test_a_supervisor_that_does_not_listen_yet_hears_of_a_stop_when_it_does(
    here: PresetPlace,
) -> None:
    here.work.store.prepare()
    run_dir = here.run_dir(new_run_id())
    lock = run_dir.begin({"runId": run_dir.run_id}, b"")
    assert run_dir.desk.take_turn(SUPERVISOR)
    stop = Stopping(run_dir, force=False)  # it has been asked, and there was nobody
    control = FakeControl(run_dir.desk)

    def end(_order: str) -> None:
        run_dir.write_result(RunResult(run_dir.run_id, "", "", "aborted", error_message="stopped"))
        os.close(lock)

    control.then(end)
    assert await asyncio.to_thread(stop.finish) is Stopped.ENDED
    assert control.orders == ["stop"]
    control.close()


# Whoever dies


async def test_a_hang_up_does_not_end_a_run_but_a_termination_does(here: PresetPlace) -> None:
    run_id, child = await here.started("tough")
    supervisor = await here.supervisor(run_id, child)
    os.kill(supervisor, signal.SIGHUP)
    await child.write(b"\n", until_read=True)
    assert os.getsid(supervisor) == supervisor
    await child.answer_and_exit("still here")
    await here.ended(run_id)
    run_id, child = await here.started("soft")
    await here.kill_supervisor(run_id, child, signal.SIGTERM)
    await here.ended(run_id)
    details = await here.status(includeCompleted=True)
    assert statuses(details) == {"tough": "completed", "soft": "aborted"}


async def test_a_run_whose_supervisor_is_killed_has_failed_and_leaves_no_process(
    here: PresetPlace,
) -> None:
    run_id, child = await here.started("stubborn")
    await child.do("ignore_term")
    await child.fork_setsid()
    grandchild = await here.work.driver.grandchild()
    await here.kill_supervisor(run_id, child, signal.SIGKILL)
    await here.ended(run_id)
    details = await here.status(includeCompleted=True)
    (row,) = details["runs"]
    assert details["counts"] == counts(failed=1)
    assert (row["status"], row["errorMessage"]) == ("failed", INTERRUPTED)
    for process in (child, grandchild):
        await process.gone()


async def start_elsewhere(here: PresetPlace, tasks: list[str]) -> asyncio.subprocess.Process:
    """Let a process of its own start runs, as the leader of a session, and return it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(STARTER), str(here.work.project), *tasks),
        env={**here.work.env, "PYTHONPATH": str(SOURCES)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    async with asyncio.timeout(2 * PATIENCE_S):
        for _ in tasks:
            assert await process.stdout.readline()
    return process


async def test_fifty_runs_survive_kill_9_of_their_starter_and_are_found_from_elsewhere(
    here: PresetPlace, tmp_path: Path
) -> None:
    tasks = [f"task {number}" for number in range(50)]
    here.settings('{"subagents": {"max_machine_children": 50}}')
    starter = await start_elsewhere(here, tasks)
    os.killpg(starter.pid, signal.SIGKILL)
    await starter.wait()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def look() -> dict[str, Any]:
        answer = await call_tool(
            "background_agent_status", {"includeCompleted": True}, cwd=elsewhere, env=here.work.env
        )
        details: Any = answer["details"]
        return dict(details)

    assert (await look())["counts"] == counts(running=50)
    for number, task in enumerate(tasks):
        child = await here.work.child(task)
        await (child.exit(1) if number % 5 == 0 else child.answer_and_exit(f"answer {number}"))
    for run in here.work.run_dirs():
        await here.ended(run.run_id)
    details = await look()
    assert details["counts"] == counts(completed=40, failed=10)
    assert {run["task"]: run["output"] for run in details["runs"]} == {
        task: "" if number % 5 == 0 else f"answer {number}" for number, task in enumerate(tasks)
    }


# Artifacts


async def test_logs_that_cannot_be_written_do_not_prevent_the_result(here: PresetPlace) -> None:
    here.settings('{"subagents": {"max_run_megabytes": 1}}')
    run_id, child = await here.started("talkative")
    await child.do("flood", size=3_000_000, kind="junk")
    await child.answer_and_exit("that was a lot")
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["output"]) == ("completed", "that was a lot")
    assert stat.S_IMODE(here.run_dir(run_id).result.stat().st_mode) == 0o600
