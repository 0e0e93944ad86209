from __future__ import annotations

import json

import pytest
from tests.fakes.records import with_facts
from tests.unit.view.test_fleet import row

from pi_subagents.core.usage import Usage
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.once import print_json, print_list
from pi_subagents.view.fleet import row_to_json

WORKING = row(
    "1" * 32, session_id="s", status="running", name="fix \U0001f388", model="mini",
    created_at_ms=61_000, last_line="Reading x.py", usage=Usage(total_tokens=1234, cost=0.5),
)  # fmt: skip
EARLIER = with_facts(
    WORKING, run_id="2" * 32, status="failed", name="fix", created_at_ms=1000,
    model="mini", error_message="too busy", finished_at_ms=2000, usage=Usage(),
)  # fmt: skip


def test_the_list_is_a_table_with_the_totals_above(capsys: pytest.CaptureFixture[str]) -> None:
    print_list(Console(), [EARLIER, WORKING], now_ms=121_000, today_ms=0, machine=False)
    totals, headings, working, earlier = capsys.readouterr().out.splitlines()
    assert totals == "1 active · 1 failed · today 1.2k tokens, $0.5000"
    assert headings.split() == [
        "RUN", "STATUS", "AGE", "TIME", "TASK", "MODEL", "LAST", "TOKENS", "COST",
    ]  # fmt: skip
    assert working.split() == [
        "11111111", "●", "running", "1m", "-", "fix", "\U0001f388", "mini", "Reading", "x.py", "1.2k", "$0.5000",
    ]  # fmt: skip
    assert earlier.split() == [
        "22222222",
        "✗",
        "failed",
        "2m",
        "-",
        "└",
        "fix",
        "mini",
        "too",
        "busy",
        "-",
        "-",
    ]
    # A balloon takes two cells: the next column begins one character earlier.
    assert working.index("mini") == headings.index("MODEL") - 1


@pytest.mark.parametrize(
    ("machine", "text"),
    [(False, messages.NO_RUNS), (True, messages.NO_RUNS_ANYWHERE)],
)
def test_where_there_is_nothing_that_is_said(
    capsys: pytest.CaptureFixture[str], machine: bool, text: str
) -> None:
    print_list(Console(), [], now_ms=0, today_ms=0, machine=machine)
    assert capsys.readouterr().out == f"{text}\n"


def test_a_script_gets_the_same_in_the_same_order(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Console(), [EARLIER, WORKING], today_ms=3000)
    told = json.loads(capsys.readouterr().out)
    assert told["schemaVersion"] == 1
    assert told["runs"] == [row_to_json(WORKING), row_to_json(EARLIER)]
    assert (told["totals"]["active"], told["totals"]["failed"]) == (1, 1)
