from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import texts, thoroughly, usages

from pi_subagents.core.messages import STOPPED_ON_REQUEST
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Status
from pi_subagents.core.usage import Usage
from pi_subagents.view.fleet import (
    MAX_TEXT,
    WHICH,
    Totals,
    Wanted,
    Which,
    arranged,
    cut,
    ending,
    last_line,
    last_line_of,
    light,
    row_to_json,
    totals,
    totals_to_json,
)

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

EVERYTHING = Wanted()
STATUSES = ["planned", "starting", "running", "stopping", "completed", "failed", "aborted", "interrupted"]  # fmt: skip


def row(run_id: str = "a", *, last_line: str = "", **facts: Any) -> RunRecord:
    """Return a light record; what it says last depends on how it stands."""
    known = {"session_id": f"s-{run_id}", "name": f"name-{run_id}", "path": f"/runs/{run_id}"}
    status = facts.get("status", "completed")
    if status not in get_args(Status):
        facts.pop("finished_at_ms", None)
        facts["last_line"] = last_line
    else:
        facts["output" if status == "completed" else "error_message"] = last_line
    return record(run_id, **{**known, **facts})


def grouped(fleet: list[RunRecord], wanted: Wanted = EVERYTHING) -> list[list[RunRecord]]:
    """Return the rows of a list by session."""
    groups: list[list[RunRecord]] = []
    for each, follows in arranged(fleet, wanted):
        if not follows:
            groups.append([])
        groups[-1].append(each)
    return groups


rows = st.builds(
    row,
    run_id=st.uuids().map(lambda each: each.hex),
    session_id=st.sampled_from(["", "s1", "s2", "s3"]),
    name=texts,
    status=st.sampled_from(STATUSES),
    path=texts,
    cwd=texts,
    profile=texts,
    model=texts,
    attached=st.booleans(),
    created_at_ms=st.integers(0, 10),
    started_at_ms=st.integers(0, 10),
    finished_at_ms=st.integers(0, 10),
    last_line=texts,
    usage=usages,
)
fleets = st.lists(rows, max_size=8, unique_by=lambda each: each.run_id)


@pytest.mark.parametrize("status", STATUSES)
def test_a_run_is_active_until_it_has_one_of_the_four_endings(status: str) -> None:
    ended = status in ("completed", "failed", "aborted", "interrupted")
    assert row(status=status).active is not ended


def test_sessions_with_work_under_way_come_first_then_the_last_to_end() -> None:
    old, late, working = (
        row("1", created_at_ms=5, finished_at_ms=6),
        row("2", created_at_ms=1, finished_at_ms=9),
        row("3", status="running"),
    )
    assert grouped([old, late, working]) == [[working], [late], [old]]


def test_what_waits_its_turn_comes_after_what_is_at_work() -> None:
    planned, working = row("1", status="planned", created_at_ms=9), row("2", status="starting")
    over = row("3", finished_at_ms=99)
    assert grouped([over, planned, working]) == [[working], [planned], [over]]


def test_those_at_work_stay_in_the_order_in_which_they_began() -> None:
    first, second = (row(each, status="running", created_at_ms=int(each)) for each in "12")
    assert grouped([first, second])[0] == [second]
    busy = with_facts(first, last_line="new")
    assert grouped([busy, second])[0] == [second]


def test_the_runs_of_a_session_stand_together_newest_first() -> None:
    first = row("1", session_id="s", created_at_ms=1)
    other = row("2", created_at_ms=2)
    second = row("3", session_id="s", created_at_ms=3, status="running")
    assert grouped([first, other, second]) == [[second, first], [other]]


def test_runs_without_a_session_are_not_thrown_together() -> None:
    first, second = row("1", session_id=""), row("2", session_id="")
    assert grouped([first, second]) == [[first], [second]]


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("", True), ("  ", True), ("NAME", True), ("name fix", True), ("fix  name", True),
        ("mini", True), ("review", True), ("Reading", True), ("failed", True), ("shop", True),
        ("abcd", True), ("abc", False), ("bcde", False), ("sess", True), ("name nothing", False),
        ("nothing", False),
    ],
)  # fmt: skip
def test_every_word_must_occur_or_begin_an_id(text: str, taken: bool) -> None:
    found = row(
        run_id="abcdef", session_id="session-7", name="Name of fix", status="failed", cwd="/shop",
        profile="reviewer", model="gpt-mini", last_line="reading x",
    )  # fmt: skip
    assert Wanted(text).takes(found) is taken


@pytest.mark.parametrize(
    ("which", "kept"),
    [
        ("all", STATUSES),
        ("active", STATUSES[:4]),
        ("completed", ["completed"]),
        ("failed", ["failed"]),
        ("stopped", ["aborted"]),
        ("interrupted", ["interrupted"]),
    ],
)
def test_runs_are_chosen_by_how_they_stand(which: Which, kept: list[str]) -> None:
    assert [each for each in STATUSES if Wanted(which=which).takes(row(status=each))] == kept


def test_the_totals_count_what_is_listed_and_what_was_used_today() -> None:
    one = Usage(total_tokens=1, cost=0.25)
    found = totals(
        [
            row("1", status="running", usage=one),
            row("2", status="planned", usage=one),
            row("3", finished_at_ms=100, usage=one),
            row("4", finished_at_ms=101, status="failed", usage=one),
            row("5", finished_at_ms=101, status="interrupted", usage=one),
            row("6", finished_at_ms=101, status="aborted", usage=one),
            row("7", finished_at_ms=99, status="failed", usage=one),
        ],
        today_ms=100,
    )
    used = Usage(total_tokens=6, cost=1.5)
    assert found == Totals(2, 1, 1, failed=2, stopped=1, interrupted=1, used_today=used)
    assert totals_to_json(found) == {
        "active": 2,
        "planned": 1,
        "completed": 1,
        "failed": 2,
        "aborted": 1,
        "interrupted": 1,
        "usageToday": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 6,
            "cost": {"total": 1.5},
        },
    }  # fmt: skip


def test_a_row_for_scripts_has_everything() -> None:
    told = row_to_json(row(status="running", created_at_ms=5, started_at_ms=6, last_line="x"))
    assert told == {
        "runId": "a", "sessionId": "s-a", "name": "name-a", "task": "", "status": "running", "active": True,
        "kind": None,
        "engine": None, "model": None, "background": False, "createdAt": 5, "startedAt": 6,
        "finishedAt": None, "lastLine": "x", "cwd": "", "path": "/runs/a",
        "usage": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
            "cost": {"total": 0.0},
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nb\n\n", "b"), ("", ""), (" \n ", ""), ("a\n\x1b[2J\n", "a"), ("a\tb", "a b")],
)
def test_the_last_line_is_the_last_that_says_something(text: str, line: str) -> None:
    assert last_line_of(text) == line


@given(texts.map(lambda text: text * 50))
@thoroughly
def test_a_row_keeps_little_and_nothing_that_drives_a_terminal(text: str) -> None:
    for kept in (cut(text), last_line_of(text)):
        assert len(kept) <= MAX_TEXT
        assert "\n" not in kept
        assert "\x1b" not in kept


def test_a_light_record_keeps_what_a_list_shows_and_no_more() -> None:
    long = "x" * 1000
    ended = record(
        "r", "s", "n\n" + long, profile="p", engine="acp:x", task=long, cwd="/shop", attached=False, path="/runs/r",
        desk="/desks/r", output="Done.\n" + long, model=long, notes=(long,) * 9, finished_at_ms=9,
        created_at_ms=1, started_at_ms=2, usage=Usage(input=1), messages=(ev.UserMessage(long),),
    )  # fmt: skip
    assert light(ended) == record(
        "r", "s", "n " + "x" * 197 + "…", profile="p", engine="acp:x", task="x" * 199 + "…", cwd="/shop",
        attached=False, path="/runs/r", desk="/desks/r", output="Done. " + "x" * 193 + "…", model="x" * 199 + "…", finished_at_ms=9,
        notes=("x" * 199 + "…",) * 8, created_at_ms=1, started_at_ms=2, usage=Usage(input=1),
    )  # fmt: skip
    assert light(light(ended)) == light(ended)
    failed = with_facts(ended, status="failed", error_message="too\nslow")
    assert (light(failed).output, last_line(light(failed))) == ("", "too slow")


def test_why_a_run_failed_is_said_as_a_person_understands_it() -> None:
    raw = '401 {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}'
    failed = light(record(status="failed", error_message=raw, notes=("A note.",)))
    assert last_line(failed) == "The provider refused the key (401)."
    assert ending(failed) == (
        "The provider refused the key (401).",
        "Check the key: subagents pi, then /login.",
        "A note.",
    )
    assert ending(light(record(status="aborted", error_message=STOPPED_ON_REQUEST))) == ()


@given(fleets, st.sampled_from(WHICH), texts)
@thoroughly
def test_every_wanted_row_is_listed_once_in_the_group_of_its_session(
    fleet: list[RunRecord], which: Which, text: str
) -> None:
    wanted = Wanted(text, which)
    groups = grouped(fleet, wanted)
    listed = [each for group in groups for each in group]
    assert sorted(each.run_id for each in listed) == sorted(
        each.run_id for each in fleet if wanted.takes(each)
    )
    for group in groups:
        assert len({each.session_id or each.run_id for each in group}) == 1
        created = [each.meta.created_at_ms for each in group]
        assert created == sorted(created, reverse=True)
    heads = [group[0].session_id or group[0].run_id for group in groups]
    assert len(set(heads)) == len(heads)
    at_work = [any(each.active for each in group) for group in groups]
    assert at_work == sorted(at_work, reverse=True)
    assert grouped(fleet[::-1], wanted) == groups


@given(fleets, st.integers(0, 10), texts)
@thoroughly
def test_each_counter_is_how_many_its_filter_lists(
    fleet: list[RunRecord], today: int, text: str
) -> None:
    found = totals(fleet, today, text)
    for which in WHICH[1:]:
        assert getattr(found, which) == len(arranged(fleet, Wanted(text, which)))
    json.dumps([row_to_json(each) for each in fleet])
