from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.fleet_place import START_MS, USAGE, FleetPlace, settled
from tests.unit.core.given_values import briefly, events

from pi_subagents.core import events as ev
from pi_subagents.core.fleet import FleetRow
from pi_subagents.core.liveness import Liveness
from pi_subagents.delegation.fleet_rows import LiveRun, ended_row
from pi_subagents.delegation.run_view import view_run
from pi_subagents.errors import RunUnreadable

if TYPE_CHECKING:
    from pathlib import Path

ID = "0001" + "0" * 28
BEGUN = START_MS + 1


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


def test_a_finished_run_is_told_by_its_answer(place: FleetPlace) -> None:
    run_dir = place.finished("fix", output="Done.\n\nAll of it.", usage=USAGE)
    row = ended_row(view_run(run_dir, Liveness.FINISHED))
    assert settled(row) == FleetRow(
        ID, "session-1", "fix", "completed", "", model="mini", created_at_ms=BEGUN,
        started_at_ms=BEGUN, finished_at_ms=BEGUN + 1000, last_line="Done. All of it.", usage=USAGE,
    )  # fmt: skip
    assert (row.path, row.cwd) == (str(run_dir.path), str(place.path))


def test_a_failed_run_is_told_by_its_error(place: FleetPlace) -> None:
    run_dir = place.finished("fix", status="failed", output="half", error_message="429\nslow")
    row = ended_row(view_run(run_dir, Liveness.FINISHED))
    assert (row.status, row.last_line) == ("failed", "429 slow")


def test_a_lost_run_of_somebody_else_counts_as_ended_when_it_began(place: FleetPlace) -> None:
    run = place.going_on("fix")
    run.dies()
    row = ended_row(view_run(run.run_dir, Liveness.LOST))
    assert (row.status, row.model, row.finished_at_ms) == ("interrupted", "", BEGUN)


def test_a_run_under_way_is_read_on_from_where_it_was(place: FleetPlace) -> None:
    run = place.going_on("fix", profile="careful", attached=False, startedAt=None)
    live = LiveRun(run.run_dir)
    assert settled(live.row()) == FleetRow(
        ID, "session-1", "fix", "planned", "", kind="careful", background=True, created_at_ms=BEGUN,
    )  # fmt: skip
    run.does(ev.StateChanged("running"), ev.AssistantMessage("a\nb", model="mini", usage=USAGE))
    run.run_dir.write_meta({**run.run_dir.read_meta(), "startedAt": BEGUN + 5})
    row = live.row()
    assert (row.status, row.model, row.last_line) == ("running", "mini", "b")
    assert (row.usage, row.started_at_ms) == (USAGE, BEGUN + 5)
    call = ev.ToolCall("1", "read", {"path": "x.py"})
    run.does(ev.AssistantMessage("", (call,), usage=USAGE), ev.ToolStarted(call))
    row = live.row()
    assert (row.usage, row.last_line, row.model) == (USAGE + USAGE, "Reading x.py", "mini")
    assert live.row() == row
    live.close()
    run.ends()


def test_a_preset_is_a_kind_too(place: FleetPlace) -> None:
    run = place.going_on("fix", preset="scout")
    live = LiveRun(run.run_dir)
    assert live.row().kind == "scout"
    live.close()
    run.ends()


def test_without_a_meta_there_is_no_run(place: FleetPlace) -> None:
    run = place.going_on("fix")
    run.run_dir.meta.write_text("{}")
    assert LiveRun(run.run_dir).row().name == "fix"
    run.run_dir.desk.meta.unlink()
    with pytest.raises(RunUnreadable):
        LiveRun(run.run_dir)
    run.ends()


@given(happened=st.lists(events, max_size=6))
@briefly
def test_any_events_make_a_row(
    happened: list[ev.Event], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("place")
    (root / "project" / ".pi").mkdir(parents=True)
    run = FleetPlace(root / "project", {"HOME": str(root)}).going_on("fix")
    live = LiveRun(run.run_dir)
    run.does(*happened)
    row = live.row()
    assert len(row.last_line) <= 200
    assert "\x1b" not in row.last_line + row.model
    live.close()
    run.dies()
