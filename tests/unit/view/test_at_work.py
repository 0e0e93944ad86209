"""A run in one line: what it is called, how it stands, what it does now."""

from __future__ import annotations

import pytest

from pi_subagents.core.run.question import LIMIT, WaitingFor
from pi_subagents.core.run.record import RunMeta, RunProgress, RunRecord
from pi_subagents.core.usage import Usage
from pi_subagents.view.at_work import at_work_line, called, how_it_stands

RUN_ID = "1f2e3d4c" + "0" * 24


def run(name: str = "", task: str = "", preset: str = "", **more: object) -> RunRecord:
    meta = RunMeta(name=name, task=task, preset=preset, started_at_ms=1)
    return RunRecord(RUN_ID, meta, **more)  # type: ignore[arg-type]  # whatever a test needs


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (run("reviewer", "Review it."), "reviewer"),
        (run("task-1", "Review it."), "Review it."),
        (run("task-1"), "task-1"),
        (run("scout", "Look\naround.", "scout"), "scout: Look around."),
        (run("", "Look around.", "scout"), "scout: Look around."),
        (run("scout-2", "Look around.", "scout"), "scout: Look around."),
        (run("", "x" * 40), "x" * 31 + "…"),
        (run(), "1f2e3d4c"),
    ],
)
def test_a_run_is_called_by_its_name_or_by_how_its_task_begins(
    record: RunRecord, expected: str
) -> None:
    assert called(record) == expected


def test_a_line_says_how_a_run_stands_and_what_it_does_within_a_width() -> None:
    at_work = run("busy", progress=RunProgress("running", last_line="Two files here."))
    waits = RunRecord(RUN_ID, RunMeta(name="late"))
    assert at_work_line(at_work, 80) == "● busy · 1f2e3d4c · running · 0s · Two files here."
    assert at_work_line(at_work, 20) == "● busy · 1f2e3d4c ·…"
    assert how_it_stands(waits) == "○ late · 1f2e3d4c · waiting"


def test_what_it_waits_for_comes_first_and_a_great_many_tokens_are_marked() -> None:
    why = WaitingFor(5, "acme has reached its limit", kind=LIMIT)
    progress = RunProgress("running", Usage(total_tokens=1_200_000), last_line="Reading")
    busy = run("busy", progress=progress, waiting_for=why)
    assert at_work_line(busy, 99) == (
        "◔ busy · 1f2e3d4c · waiting · 0s · !1.2M · acme has reached its limit"
    )
