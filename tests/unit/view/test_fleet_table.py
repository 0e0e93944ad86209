from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly
from tests.unit.view.test_fleet import STATUSES, row, rows

from pi_subagents.core.messages import NO_TEXT_OUTPUT
from pi_subagents.core.usage import Usage
from pi_subagents.view.amounts import money, short_number
from pi_subagents.view.fleet import Totals
from pi_subagents.view.fleet_table import (
    cell_text,
    details,
    heading,
    layout,
    totals_line,
)
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord


def shown(width: int, found: RunRecord, *, follows: bool = False) -> dict[str, str]:
    return {cell.column: cell_text(found, cell, 61_000, follows=follows) for cell in layout(width)}


def shown_at(found: RunRecord, now_ms: int) -> dict[str, str]:
    return {cell.column: cell_text(found, cell, now_ms) for cell in layout(120)}


@pytest.mark.parametrize("width", [40, 60, 69, 70, 99, 100, 200])
def test_the_columns_fill_the_width_and_leave_room_for_words(width: int) -> None:
    cells = layout(width)
    assert sum(cell.width for cell in cells) + len(cells) - 1 == width
    widths = {cell.column: cell.width for cell in cells}
    assert widths["name"] >= 10
    assert widths["doing"] >= 10


def test_a_narrow_screen_has_the_columns_that_matter() -> None:
    assert [cell.column for cell in layout(40)] == ["status", "age", "name", "doing"]
    assert [cell.heading for cell in layout(40)] == ["", "AGE", "TASK", "LAST"]
    assert [cell.column for cell in layout(80)] == [
        "status", "age", "name", "doing", "tokens", "cost",
    ]  # fmt: skip
    assert [cell.heading for cell in layout(120)] == [
        "STATUS", "AGE", "TIME", "TASK", "MODEL", "LAST", "TOKENS", "COST",
    ]  # fmt: skip


def test_the_cells_of_a_run() -> None:
    found = row(
        status="running", created_at_ms=1000, started_at_ms=2000, model="mini",
        last_line="Reading x",
        usage=Usage(total_tokens=1234, cost=0.5),
    )  # fmt: skip
    assert shown(120, found) == {
        "status": "● running", "age": "1m", "time": "59s", "name": "name-a", "model": "mini", "doing": "Reading x",
        "tokens": "1.2k", "cost": "$0.5000",
    }  # fmt: skip
    assert shown(40, found, follows=True) == {
        "status": "●", "age": "1m", "name": "└ name-a", "doing": "Reading x",
    }  # fmt: skip


def test_what_is_not_known_is_a_dash_or_an_id() -> None:
    assert shown(120, row(run_id="abcdef" * 5, name="")) == {
        "status": "✓ completed", "age": "-", "time": "-", "name": "abcdefab", "model": "-", "doing": "",
        "tokens": "-", "cost": "-",
    }  # fmt: skip
    assert shown(120, row(profile="reviewer"))["model"] == "reviewer"


def test_a_task_without_a_name_of_its_own_shows_how_its_prompt_begins() -> None:
    asked = "Count\nthe Python files"
    for facts in ({"name": "task-2"}, {"name": "scout-1", "preset": "scout"}):
        assert shown(120, row(**facts, task=asked))["name"] == "Count the Python files"
    assert shown(120, row(name="count", task=asked))["name"] == "count"


def test_every_way_to_stand_has_a_sign_that_needs_no_colour() -> None:
    signs = {
        status: (state.sign, state.role)
        for status in STATUSES
        for state in (state_of(row(status=status)),)
    }
    assert signs == {
        "planned": ("○", "quiet"), "starting": ("●", "working"), "running": ("●", "working"),
        "stopping": ("◌", "stopped"), "completed": ("✓", "good"), "failed": ("✗", "bad"),
        "aborted": ("■", "stopped"), "interrupted": ("!", "lost"),
    }  # fmt: skip
    assert shown(120, row(last_line=NO_TEXT_OUTPUT))["status"] == "⚠ completed"


def test_the_totals_take_the_room_there_is() -> None:
    found = Totals(5, 3, 6, 1, 2, 4, Usage(total_tokens=45_600, cost=1.234))
    told = (
        "5 active (3 waiting) · 6 completed · 1 failed · 2 stopped · 4 interrupted · "
        "today 45.6k tokens, $1.23"
    )
    assert totals_line(found, len(told)) == told
    assert totals_line(found, len(told) - 1) == "●5 ✓6 ✗1 ■2 !4 45.6k $1.23"
    assert totals_line(Totals(), 99) == "0 active · today 0 tokens"


def test_a_run_from_near_is_told_in_a_heading() -> None:
    found = row(
        status="failed", profile="reviewer", model="mini", usage=Usage(total_tokens=5),
        started_at_ms=1000, finished_at_ms=73_000,
    )  # fmt: skip
    assert heading(found, 99_000) == "✗ failed after 1m12s · name-a · reviewer · mini · 5 tokens"


def test_clocks_run_while_a_run_does_and_stand_still_afterwards() -> None:
    active = row(status="running", started_at_ms=1000)
    assert [heading(active, now).split(" · ")[0] for now in (61_000, 62_000)] == [
        "● running for 1m", "● running for 1m1s",
    ]  # fmt: skip
    assert [shown_at(active, now)["time"] for now in (4000, 5000)] == ["3s", "4s"]
    ended = row(started_at_ms=1000, finished_at_ms=4000)
    assert [shown_at(ended, now)["time"] for now in (4000, 9000)] == ["3s", "3s"]


def test_the_details_say_what_the_list_has_no_room_for() -> None:
    found = row(
        run_id="abcdef" * 5, status="running", started_at_ms=1000, attached=False, preset="scout",
        model="mini", cwd="/h/shop", usage=Usage(cost=0.5),
    )  # fmt: skip
    assert details(found, 62_000, "/h") == (
        "run abcdefab · session s-abcdef · in the background · scout · mini\n"
        "running for 1m1s · $0.5000 · ~/shop"
    )
    assert details(row(status="planned"), 5, "").endswith("\nwaiting")
    ended = row(started_at_ms=1000, finished_at_ms=4000, session_id="")
    assert details(ended, 5, "") == "run a\ncompleted after 3s"
    assert details(row(session_id="\x1b[2Jx\n"), 5, "") == "run a · session x\n\ncompleted"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (3600, "1h"), (86_399, "23h"),
     (86_400, "1d"), (10**9, "999d")],
)  # fmt: skip
def test_an_age_is_short(seconds: int, text: str) -> None:
    assert age(seconds * 1000) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12.3k"), (999_949, "999.9k"),
     (999_951, "1.0M"), (4_500_000, "4.5M"), (10**9, "1.0G"), (10**15, ">999G")],
)  # fmt: skip
def test_a_count_is_short(number: int, text: str) -> None:
    assert short_number(number) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.0, "$0.0000"), (0.00012, "$0.0001"), (1.0, "$1.00"), (9999.99, "$9999.99"),
     (12_345.0, "$12.3k")],
)  # fmt: skip
def test_a_cost_is_short(cost: float, text: str) -> None:
    assert money(cost) == text


@given(rows, st.integers(0, 2**45), st.integers(30, 300))
@thoroughly
def test_figures_always_fit_their_columns(found: RunRecord, now_ms: int, width: int) -> None:
    for cell in layout(width):
        text = cell_text(found, cell, now_ms)
        if cell.column in ("status", "age", "time", "tokens", "cost"):
            assert len(text) <= cell.width
