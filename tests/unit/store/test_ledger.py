"""The ledger: every run once, whoever counts it and however often."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.spending.budget import Spending
from pi_subagents.core.usage import Usage
from pi_subagents.errors import LedgerDamaged
from pi_subagents.store import ledger as ledger_module
from pi_subagents.store import messages
from pi_subagents.store.desk import Desk
from pi_subagents.store.ledger import FILE_NAME, Ledger, LedgerRow, Total, day_of, row_of
from pi_subagents.store.run_dir import META_VERSION, RunDir
from pi_subagents.store.run_store import new_run_id
from pi_subagents.system.safe_io import make_private_dirs

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.value import JsonObject

NOON = 1_790_000_000_000
WRITERS = 50


def make_run(root: Path, number: int, **facts: object) -> RunDir:
    """Make the directory of a run that has ended."""
    run_id = new_run_id()
    path = root / "project" / ".pi" / "subagents" / "runs" / run_id
    make_private_dirs(path)
    run = RunDir(path, Desk(root / "data" / "desks" / run_id))
    meta = {"schemaVersion": META_VERSION, "runId": run_id, "cwd": "/elsewhere", **facts}
    run.write_meta(meta)
    usage = Usage(number, 10, 1000, 5, number + 1015, number / 100)
    run.write_result(
        RunResult(
            run_id=run_id, session_id="5" * 16, name="x", status="completed", output="done",
            provider="p", model="m", usage=usage, started_at_ms=NOON, finished_at_ms=NOON + 9**9,
        )
    )  # fmt: skip
    return run


def ledger_of(root: Path, *known: RunDir) -> Ledger:
    return Ledger(root / "data", lambda: known)


def test_a_run_counts_for_the_day_on_which_it_began_and_for_its_project(tmp_path: Path) -> None:
    run = make_run(tmp_path, 7, profile="reviewer")
    assert row_of(run) == LedgerRow(
        run_id=run.run_id, day=day_of(NOON), project=str(tmp_path / "project"), profile="reviewer",
        model="p/m", tokens=7 + 10 + 5, cost=0.07, total_tokens=1022,
    )  # fmt: skip


def test_a_project_that_keeps_no_runs_itself_is_named_by_the_run(tmp_path: Path) -> None:
    row = row_of(make_run(tmp_path, 1, project="/read/only", preset="scout"))
    assert row is not None
    assert (row.project, row.profile) == ("/read/only", "scout")


def test_to_count_a_run_again_changes_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path, 7)
    ledger = ledger_of(tmp_path)
    for _ in range(3):
        ledger.note([run])
    assert ledger.totals("model") == [Total("p/m", 1, 22, 0.07, 1022)]
    assert ledger.spent_on(day_of(NOON)) == Spending(22, 0.07)
    assert ledger.spent_on(day_of(NOON), "/other") == Spending()
    assert ledger.incomplete_since() == ""


def test_runs_from_before_the_ledger_are_counted_once(tmp_path: Path) -> None:
    old, new = make_run(tmp_path, 1), make_run(tmp_path, 2)
    ledger = ledger_of(tmp_path, old, new)
    ledger.note([new])
    assert [each.runs for each in ledger.totals("day")] == [2]
    assert ledger.incomplete_since() == ""


def test_a_lost_ledger_is_made_of_what_still_exists_and_says_so(tmp_path: Path) -> None:
    kept, removed = make_run(tmp_path, 1), make_run(tmp_path, 2)
    ledger_of(tmp_path).note([kept, removed])
    (tmp_path / "data" / FILE_NAME).unlink()
    ledger = ledger_of(tmp_path, kept)
    assert [each.runs for each in ledger.totals("day")] == [1]
    assert ledger.incomplete_since() == day_of(time.time_ns() // 1_000_000)


def test_after_a_start_of_the_machine_the_runs_that_exist_are_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut may have taken what was noted last."""
    noted, lost = make_run(tmp_path, 1), make_run(tmp_path, 2)
    ledger_of(tmp_path).note([noted])
    monkeypatch.setattr(ledger_module, "boot_id", lambda: "another")
    ledger = ledger_of(tmp_path, lost)
    assert [each.runs for each in ledger.totals("day")] == [2]
    assert ledger.incomplete_since() == ""


def test_a_damaged_ledger_tells_nothing_until_it_is_made_anew(tmp_path: Path) -> None:
    run = make_run(tmp_path, 1)
    ledger = ledger_of(tmp_path, run)
    ledger.note([run])
    (tmp_path / "data" / FILE_NAME).write_bytes(b"nothing that SQLite could read" * 200)
    with pytest.raises(LedgerDamaged, match="subagents usage --rebuild"):
        ledger.spent_on(day_of(NOON))
    ledger.note([run])  # is no reason to fail
    ledger.rebuild()
    assert ledger.spent_on(day_of(NOON)) == Spending(16, 0.01)
    assert ledger.incomplete_since() != ""


def test_a_ledger_of_a_newer_version_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    run = make_run(tmp_path, 1)
    ledger = ledger_of(tmp_path, run)
    ledger.note([run])
    with closing(sqlite3.connect(ledger.path)) as db:
        db.execute("PRAGMA user_version = 2")
    was = ledger.path.read_bytes()
    with pytest.raises(LedgerDamaged, match=messages.LEDGER_IS_NEWER):
        ledger.totals("day")
    ledger.note([run])
    assert ledger.path.read_bytes() == was


def test_a_project_need_not_have_a_name_in_utf_8(tmp_path: Path) -> None:
    run = make_run(tmp_path / os.fsdecode(b"na\xefve"), 1)
    ledger = ledger_of(tmp_path)
    ledger.note([run])
    project = str(run.path.parents[3])
    assert [each.name for each in ledger.totals("project")] == [project]
    assert ledger.spent_on(day_of(NOON), project) == Spending(16, 0.01)


@pytest.mark.parametrize(
    "forged",
    [
        {"startedAt": 10**26},
        {"startedAt": -(10**19)},
        {"startedAt": 253_402_300_800_000},  # of the year 10000
        {"model": "half \ud800"},
        {"usage": {"input": 10**400, "totalTokens": 10**19, "cost": {"total": 1e308}}},
    ],
)
def test_whatever_a_result_says_the_ledger_counts_it_and_all_others(
    tmp_path: Path, forged: JsonObject
) -> None:
    """It is in its project, where any task can write."""
    run, other = make_run(tmp_path, 1, createdAt=NOON), make_run(tmp_path, 2)
    content = json.loads(run.result.read_text()) | forged
    run.result.write_text(json.dumps(content))
    ledger = ledger_of(tmp_path)
    ledger.note([run, other])
    assert [(each.name, each.runs) for each in ledger.totals("day")] == [(day_of(NOON), 2)]


@pytest.mark.slow
def test_many_writers_of_which_many_are_killed_count_every_run_once(tmp_path: Path) -> None:
    """Who was killed noted nothing elsewhere: the next look counts what it ended with."""
    chance = random.Random(23)
    runs = [make_run(tmp_path, number) for number in range(WRITERS * 4)]
    children = []
    for writer in range(WRITERS):
        if (child := os.fork()) == 0:
            own = runs[writer * 4 : writer * 4 + 4]
            for run in own:
                ledger_of(tmp_path, *runs[:20]).note([run, run])
            os._exit(0)
        children.append(child)
    for child in chance.sample(children, WRITERS // 2):
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    ledger = ledger_of(tmp_path)
    ledger.note(runs)  # as the next look does with those that are not marked as ended
    rows = [row for run in runs if (row := row_of(run)) is not None]
    (total,) = ledger.totals("day")
    assert (total.runs, total.tokens) == (len(runs), sum(row.tokens for row in rows))
    assert total.cost == pytest.approx(sum(row.cost for row in rows))
