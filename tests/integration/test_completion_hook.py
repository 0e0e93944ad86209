"""A user's command is told once of the end of a background run, whoever notices it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from tests.fakes.completion_hook import Hook, open_hook
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace
from tests.faults.crashing import BEFORE_BOOT, POINT_VARIABLE
from tests.integration.test_crashes import orchestrator

from pi_subagents.core.run.result import result_to_json
from pi_subagents.runners import supervisor_start
from pi_subagents.store.completion import REAPER
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.workplace import Workplace


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    """A user with a preset."""
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


@pytest.fixture
async def hook(here: PresetPlace) -> AsyncIterator[Hook]:
    """A user whose command is told of every end."""
    async with open_hook() as made:
        here.settings(json.dumps({"subagents": {"on_complete": made.command}}))
        yield made


async def test_the_command_is_told_once_of_an_end(here: PresetPlace, hook: Hook) -> None:
    first = await here.answered("first")
    heard = await hook.next()
    result = here.run_dir(first).read_result()
    assert result is not None
    assert heard == {**result_to_json(result), "runDir": str(here.run_dir(first).path)}
    here.runs.recover()
    await here.status(includeCompleted=True)
    second = await here.answered("second")
    assert (await hook.next())["runId"] == second


async def test_the_command_is_told_when_somebody_finds_the_supervisor_dead(
    here: PresetPlace, hook: Hook
) -> None:
    run_id, child = await here.started("orphan")
    await here.kill_supervisor(run_id, child, signal.SIGKILL)
    await here.ended(run_id)
    for _ in range(2):
        here.runs.recover()
    heard = await hook.next()
    assert (heard["runId"], heard["status"]) == (run_id, "interrupted")
    assert (await here.answered("next")) == (await hook.next())["runId"]
    for thread in threading.enumerate():
        if thread.name == REAPER:
            await asyncio.to_thread(thread.join, PATIENCE_S)
            assert not thread.is_alive(), "nobody took the dead command away"


async def test_the_command_is_told_when_the_supervisor_died_right_after_the_result(
    here: PresetPlace, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.work.secrets[POINT_VARIABLE] = crash_points.AFTER_RESULT
    monkeypatch.setattr(supervisor_start, "BOOT", BEFORE_BOOT + supervisor_start.BOOT)
    run_id = await here.answered("sudden")
    assert here.run_dir(run_id).read_result() is not None
    del here.work.secrets[POINT_VARIABLE]
    here.runs.recover()
    heard = await hook.next()
    assert (heard["runId"], heard["status"]) == (run_id, "completed")


async def test_the_command_is_told_of_a_run_that_never_started(
    here: PresetPlace, hook: Hook
) -> None:
    details = await here.start("nowhere", cwd="missing")
    heard = await hook.next()
    assert (heard["runId"], heard["status"]) == (details["runId"], "failed")


async def test_a_command_that_is_set_later_is_not_told_of_earlier_ends(here: PresetPlace) -> None:
    run_id = await here.answered("before")
    mark = here.work.home / "was told"
    here.settings(json.dumps({"subagents": {"on_complete": ["/usr/bin/touch", str(mark)]}}))
    here.runs.recover()
    assert here.run_dir(run_id).completion.read_bytes() == b""
    assert not mark.exists()


async def test_a_long_answer_does_not_make_anybody_wait_for_the_command(here: PresetPlace) -> None:
    """It reads nothing for as long as the test lasts, and is told more than a pipe holds."""
    gate = here.work.home / "gate"
    os.mkfifo(gate)
    code = "import sys; open(sys.argv[1]).read()"
    command = [sys.executable, "-I", "-S", "-c", code, str(gate)]
    here.settings(json.dumps({"subagents": {"on_complete": command}}))
    run_id, child = await here.started("wordy")
    await child.answer_and_exit("\N{GRINNING FACE}" * 20_000)
    await here.ended(run_id)
    noted = json.loads(here.run_dir(run_id).completion.read_bytes())
    assert noted["output"] == "\N{GRINNING FACE}" * 8192
    await asyncio.to_thread(gate.write_text, "go")


@pytest.mark.parametrize("command", [["/no/such/command"], ["\0"], [""], ["/"]])
async def test_a_command_that_cannot_be_run_harms_nothing(
    here: PresetPlace, command: list[str]
) -> None:
    here.settings(json.dumps({"subagents": {"on_complete": command}}))
    run_id = await here.answered("calm")
    (row,) = (await here.status(runId=run_id))["runs"]
    assert (row["status"], row["output"], row["notes"]) == ("completed", "answer to calm", [])
    assert not here.run_dir(run_id).desk.control.exists(), "the supervisor came to its proper end"
    run_id, child = await here.started("lost")
    await here.kill_supervisor(run_id, child, signal.SIGKILL)
    await here.ended(run_id)
    (row,) = (await here.status(runId=run_id))["runs"]
    assert row["status"] == "failed"


async def test_a_project_cannot_name_a_command(here: PresetPlace) -> None:
    mark = here.work.home / "was told"
    settings = {"subagents": {"on_complete": ["/usr/bin/touch", str(mark)]}}
    (here.work.project / ".pi/settings.json").write_text(json.dumps(settings))
    run_id = await here.answered("unheard")
    here.runs.recover()
    assert here.run_dir(run_id).completion.read_bytes() == b""


async def test_a_foreground_run_is_not_told_to_the_command(here: PresetPlace, hook: Hook) -> None:
    work = asyncio.create_task(here.call("subagent", preset="scout", task="attached"))
    await (await here.work.child("attached")).answer_and_exit("done")
    await work
    async with orchestrator(here.work, "orphaned") as caller:
        child = await here.work.child("orphaned")
        caller.kill()
        await child.gone()
        await here.ended(child.run_id)
    here.runs.recover()
    assert [run.completion.exists() for run in here.work.run_dirs()] == [False, False]
