from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.fleet_place import START_MS, USAGE, FleetPlace, settled
from tests.fakes.records import record
from tests.unit.core.given_values import briefly, events

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.record import Liveness
from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.service.fleet import LiveRun
from pi_subagents.store.run_records import load_record
from pi_subagents.view.fleet import finished_at_ms, last_line, light

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
    row = light(load_record(run_dir, Liveness.FINISHED))
    expected = record(
        ID, "session-1", "fix", model="mini", created_at_ms=BEGUN, finished_at_ms=BEGUN + 1000,
        duration_ms=1000, output="Done. All of it.", usage=USAGE,
    )  # fmt: skip
    expected = replace(
        expected,
        meta=replace(expected.meta, started_at_ms=BEGUN),
        result=expected.result and replace(expected.result, started_at_ms=BEGUN),
    )
    assert settled(row) == expected
    assert (row.path, row.meta.cwd) == (str(run_dir.path), str(place.path))
    assert last_line(row) == "Done. All of it."


def test_a_failed_run_is_told_by_its_error(place: FleetPlace) -> None:
    run_dir = place.finished("fix", status="failed", output="half", error_message="too\nslow")
    row = light(load_record(run_dir, Liveness.FINISHED))
    assert (row.status, last_line(row)) == ("failed", "too slow")


def test_a_lost_run_of_somebody_else_counts_as_ended_when_it_began(place: FleetPlace) -> None:
    run = place.going_on("fix")
    run.dies()
    row = light(load_record(run.run_dir, Liveness.LOST))
    assert (row.status, row.model, finished_at_ms(row)) == ("interrupted", "", BEGUN)


def test_a_run_under_way_is_read_on_from_where_it_was(place: FleetPlace) -> None:
    run = place.going_on("fix", profile="careful", attached=False, startedAt=None)
    live = LiveRun(run.run_dir)
    assert settled(live.record()) == record(
        ID, "session-1", "fix", "planned", profile="careful", attached=False, created_at_ms=BEGUN
    )
    run.does(ev.StateChanged("running"), ev.AssistantMessage("a\nb", model="mini", usage=USAGE))
    run.run_dir.write_meta({**run.run_dir.read_meta(), "startedAt": BEGUN + 5})
    row = live.record()
    assert (row.status, row.model, last_line(row)) == ("running", "mini", "b")
    assert (row.usage, row.meta.started_at_ms) == (USAGE, BEGUN + 5)
    call = ev.ToolCall("1", "read", {"path": "x.py"})
    run.does(ev.AssistantMessage("", (call,), usage=USAGE), ev.ToolStarted(call))
    row = live.record()
    assert (row.usage, last_line(row), row.model) == (USAGE + USAGE, "Reading x.py", "mini")
    assert live.record() == row
    live.close()
    run.ends()


def test_a_preset_is_a_kind_too(place: FleetPlace) -> None:
    run = place.going_on("fix", preset="scout")
    live = LiveRun(run.run_dir)
    assert live.record().kind == "scout"
    live.close()
    run.ends()


def test_without_a_meta_there_is_no_run(place: FleetPlace) -> None:
    run = place.going_on("fix")
    run.run_dir.meta.write_text("{}")
    assert LiveRun(run.run_dir).record().name == "fix"
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
    row = live.record()
    assert len(last_line(row)) <= 200
    assert "\x1b" not in last_line(row) + row.model
    live.close()
    run.dies()
