"""A project that is moved (`mv`) while runs are at work takes them along: none is lost, ended or forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.fakes.completion_hook import open_hook
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace, watch_ends

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

pytestmark = in_both_modes
TASK = "far away"


async def test_a_project_that_is_moved_takes_its_runs_along(
    place: Workplace, tmp_path: Path
) -> None:
    work = place.delegate_by_api("mover", "waiting", concurrency=1)
    child = await place.child("mover")
    await work.sees(ev.StateChanged("running"), "mover")
    moved = place.project.rename(tmp_path / "moved")
    await child.tool("bash", {"command": "mv"})
    await work.sees(ev.ToolFinished)
    place.project.mkdir()
    await child.answer_and_exit("moved")
    waiting = await place.child("waiting")
    await waiting.answer_and_exit("unharmed")
    mover, sibling = await work.results()
    assert (mover.status, mover.output, mover.notes) == ("completed", "moved", ())
    there = moved / ".pi" / "subagents" / "runs" / mover.run_id
    view = Runs(place.home, place.env).find(mover.run_id)
    assert (view.path, view.result) == (str(there), mover)
    assert (sibling.status, sibling.output) == ("completed", "unharmed")
    listed = {
        view.run_id: view.status
        for view in Runs(moved, place.env).newest()
        if not isinstance(view, Exception)
    }
    assert listed == {mover.run_id: "completed", sibling.run_id: "completed"}, "no false end"


# Background runs, looked at from where the project is now, from where it was, and from elsewhere


class Moved:
    """A background run at work, whose project has moved, and somebody who asks for it."""

    def __init__(self, here: PresetPlace, looker: Callable[[PresetPlace], None]) -> None:
        self.here = here
        self._looker = looker
        self.old = here.work.project
        self.new = self.old.with_name("moved")
        self.run_id = ""

    async def start(self) -> FakeProcess:
        """Start the run, move the project, and be where one asks from."""
        self.run_id, child = await self.here.started(TASK)
        await self.here.supervisor(self.run_id, child)
        self.old.rename(self.new)
        self._looker(self.here)
        return child

    async def row(self) -> dict[str, Any]:
        """Return what is said of the run to whoever asks for its state."""
        (row,) = (await self.here.status(runId=self.run_id))["runs"]
        assert row["paths"]["runDir"] == str(self.new / ".pi/subagents/runs" / self.run_id)
        return dict(row)


def from_the_new_place(here: PresetPlace) -> None:
    here.work.project = here.work.project.with_name("moved")


def from_the_old_place(here: PresetPlace) -> None:
    (here.work.project / ".pi").mkdir(parents=True)


def from_elsewhere(here: PresetPlace) -> None:
    here.work.project = here.work.home


LOOKERS = [from_the_new_place, from_the_old_place, from_elsewhere]


@pytest.fixture(params=LOOKERS)
def moved(place: Workplace, request: pytest.FixtureRequest) -> Moved:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    return Moved(here, request.param)


async def test_a_background_run_whose_project_is_moved_is_found_and_tells_its_answer(
    moved: Moved,
) -> None:
    child = await moved.start()
    row = await moved.row()
    assert (row["status"], row["task"]) == ("running", TASK)
    assert moved.here.runs.recover() == [], "no false end"
    await child.answer_and_exit("the answer")
    await moved.here.ended(moved.run_id)
    row = await moved.row()
    assert (row["status"], row["output"]) == ("completed", "the answer")


async def test_a_background_run_whose_project_is_moved_is_listed(moved: Moved) -> None:
    child = await moved.start()
    listed = (await moved.here.status())["runs"]
    assert [(row["runId"], row["status"]) for row in listed] == [(moved.run_id, "running")]
    await child.answer_and_exit("the answer")
    await moved.here.ended(moved.run_id)


async def test_a_background_run_whose_project_is_moved_can_be_stopped(moved: Moved) -> None:
    child = await moved.start()
    answer = await moved.here.call("background_agent_stop", runId=moved.run_id)
    (row,) = answer["details"]["runs"]
    assert (row["status"], row["errorMessage"]) == ("aborted", core_messages.STOPPED_ON_REQUEST)
    await child.gone()


async def test_a_background_run_whose_project_is_moved_is_timed_out(moved: Moved) -> None:
    moved.here.work.settings(background_timeout=2, extend_timeout_debounce=0)
    child = await moved.start()
    await child.gone()
    await moved.here.ended(moved.run_id)
    row = await moved.row()
    assert (row["status"], row["errorMessage"]) == ("failed", core_messages.timed_out(2))


async def test_the_end_of_a_background_run_whose_project_is_moved_is_told_once(
    moved: Moved,
) -> None:
    child = await moved.start()
    ends: asyncio.Queue[str] = asyncio.Queue()
    known = moved.here.known
    watching = asyncio.create_task(watch_ends(known, lambda run: ends.put_nowait(run.run_id)))
    await child.answer_and_exit("the answer")
    async with asyncio.timeout(PATIENCE_S):
        assert await ends.get() == moved.run_id
    watching.cancel()
    again: list[str] = []
    moved.here.known.report_ends(lambda run: again.append(run.run_id), set())
    assert again == []


async def test_the_command_for_the_end_of_a_run_is_told_though_its_project_is_moved(
    moved: Moved,
) -> None:
    async with open_hook() as hook:
        moved.here.work.settings(on_complete=hook.command)
        child = await moved.start()
        await child.answer_and_exit("the answer")
        heard = await hook.next()
    assert (heard["runId"], heard["output"]) == (moved.run_id, "the answer")
    assert heard["runDir"] == str(moved.new / ".pi/subagents/runs" / moved.run_id)
