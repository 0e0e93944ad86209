from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import counts as numbers
from tests.unit.core.given_values import json_objects, json_values, texts, thoroughly, usages

from pi_subagents.core import messages as core_messages
from pi_subagents.core.preset.request import StatusRequest
from pi_subagents.core.run.record import RunProgress, RunRecord
from pi_subagents.core.settings import ALL_TOOLS, PRESET_TOOLS
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.view import messages as view_messages
from pi_subagents.view.background import (
    MAX_ENTRY_OUTPUT,
    MAX_ROWS,
    MAX_SHOWN_OUTPUT,
    RUN_ENTRY,
    UPDATE_ENTRY,
    background_status,
    counts,
    footer,
    listed,
    rebuild,
    run_entry,
    started_to_json,
    status_to_json,
    stopped_to_json,
    update_entry,
    usage_counted,
    usage_entry,
)

RUN = record(
    run_id="r1",
    session_id="s1",
    status="running",
    attached=False,
    preset="scout",
    task="look around",
    cwd="/here",
    requested_model="big",
    resolved_model="acme/big",
    created_at_ms=100,
    path="/runs/r1",
    started_at_ms=110,
)
DONE = with_facts(
    RUN,
    status="completed",
    finished_at_ms=150,
    duration_ms=40,
    output="nothing",
    exit_code=0,
    stop_reason="stop",
    usage=Usage(input=1, output=2, total_tokens=3, cost=0.5),
    notes=("a note",),
)
ROW = {
    "runId": "r1",
    "sessionId": "s1",
    "preset": "scout",
    "task": "look around",
    "cwd": "/here",
    "requestedModel": "big",
    "resolvedModel": "acme/big",
    "createdAt": 100,
    "paths": {
        "runDir": "/runs/r1",
        "meta": "/runs/r1/meta.json",
        "events": "/runs/r1/events.jsonl",
        "result": "/runs/r1/result.json",
        "stdout": "/runs/r1/stdout.log",
        "stderr": "/runs/r1/stderr.log",
        "transcript": "/runs/r1/transcript.log",
        "childSession": "/runs/r1/child-session.jsonl",
        "systemPrompt": "/runs/r1/system-prompt.md",
    },
    "startedAt": 110,
    "status": "running",
    "finishedAt": None,
    "durationMs": 0,
    "output": "",
    "errorMessage": None,
    "exitCode": None,
    "stopReason": "",
    "model": None,
    "usage": {
        "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": {"total": 0.0},
    },
    "notes": [],
}  # fmt: skip
DONE_ROW = {
    **ROW,
    "status": "completed",
    "finishedAt": 150,
    "durationMs": 40,
    "output": "nothing",
    "exitCode": 0,
    "stopReason": "stop",
    "usage": {
        "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
        "cost": {"total": 0.5},
    },
    "notes": ["a note"],
}  # fmt: skip


def of_status(*statuses: str) -> list[RunRecord]:
    return [with_facts(RUN, run_id=f"r{n}", status=each) for n, each in enumerate(statuses)]


def log(*entries: tuple[str, dict[str, object]]) -> list[object]:
    return [{"type": "custom", "customType": kind, "data": data} for kind, data in entries]


@pytest.mark.parametrize(
    ("state", "word"),
    [
        *((state, "running") for state in ("planned", "starting", "running", "stopping", "?")),
        ("completed", "completed"),
        ("failed", "failed"),
        ("interrupted", "failed"),
        ("aborted", "aborted"),
    ],
)
def test_the_states_of_the_core_have_words_here(state: str, word: str) -> None:
    run = with_facts(RUN, status=state)
    assert (background_status(run), run.active) == (word, word == "running")


def test_a_run_goes_on_until_its_result_is_there() -> None:
    """Its journal tells of the end a moment before."""
    heard = replace(RUN, progress=RunProgress("completed"))
    assert (background_status(heard), listed([heard], StatusRequest())) == ("running", [heard])


def test_a_run_that_nobody_answers_for_has_failed() -> None:
    lost = replace(RUN, lost=True)
    assert (background_status(lost), lost.error_message) == ("failed", core_messages.INTERRUPTED)
    assert run_entry(lost)["finishedAt"] is None


def test_counts_add_up() -> None:
    runs = of_status("running", "failed", "running", "completed", "aborted", "failed", "failed")
    counted = counts(runs)
    assert counted == {"running": 2, "completed": 1, "failed": 3, "aborted": 1, "total": 7}
    assert footer(counted) == "bg: 2 running / 7 total"
    assert footer(counts(runs[:5])) == "bg: 2 running / 5 total"
    assert counts([]) == {"running": 0, "completed": 0, "failed": 0, "aborted": 0, "total": 0}


def test_active_runs_are_listed_or_all_or_the_one_that_was_asked_for() -> None:
    runs = of_status("running", "failed", "completed")
    assert listed(runs, StatusRequest()) == runs[:1]
    assert listed(runs, StatusRequest(include_completed=True)) == runs
    assert listed(runs, StatusRequest(run_id="r2")) == runs[2:]
    many = of_status(*["running"] * (MAX_ROWS + 1))
    assert listed(many, StatusRequest()) == many[:MAX_ROWS]


def test_a_start_is_told_with_its_id_and_the_counts() -> None:
    assert started_to_json(RUN, [RUN, with_facts(DONE, run_id="r0")]) == {
        "content": [{"type": "text", "text": view_messages.background_started("scout", "r1")}],
        "details": {
            **ROW,
            "counts": {"running": 1, "completed": 1, "failed": 0, "aborted": 0, "total": 2},
        },
        "isError": False,
    }


def test_a_start_that_came_to_nothing_is_told_so() -> None:
    failed = with_facts(RUN, status="failed", started_at_ms=0, error_message="no such directory")
    heard = view_messages.background_not_started("scout", "r1", "no such directory")
    assert text_of(started_to_json(failed, [failed])) == heard
    quick = with_facts(DONE, run_id="r2")
    assert text_of(started_to_json(quick, [quick])) == view_messages.background_started(
        "scout", "r2"
    )


def test_a_run_is_told_with_its_answer_when_it_was_asked_for() -> None:
    heard = status_to_json(
        [DONE, with_facts(RUN, run_id="r2")], StatusRequest(run_id="r1"), ALL_TOOLS
    )
    assert heard == {
        "content": [
            {
                "type": "text",
                "text": "bg: 1 running / 2 total\n"
                "completed scout r1 (session: s1): look around\n3 tokens $0.5000\n\nnothing",
            }
        ],
        "details": {
            "counts": {"running": 1, "completed": 1, "failed": 0, "aborted": 0, "total": 2},
            "runs": [{**DONE_ROW, "nextCall": None}],
        },
        "isError": False,
    }


def text_of(value: dict[str, Any]) -> str:
    (content,) = value["content"]
    return str(content["text"])


def test_a_list_has_a_line_per_run_and_no_answers() -> None:
    failed = with_facts(DONE, run_id="r2", status="failed", error_message="no\nmodel")
    request = StatusRequest(include_completed=True)
    assert text_of(status_to_json([DONE, failed], request, ALL_TOOLS)) == (
        "bg: 0 running / 2 total\n"
        "completed scout r1 (session: s1): look around\n"
        "failed scout r2 (session: s1): look around — no model"
    )
    assert text_of(status_to_json([RUN], StatusRequest(run_id="r1"), ALL_TOOLS)) == (
        "bg: 1 running / 1 total\nrunning scout r1 (session: s1): look around"
    )


def test_what_a_list_tells_of_tasks_is_short_and_harmless() -> None:
    strange = with_facts(RUN, task="\x1b]0;x\x07" + "a b\n" * 100)
    (_, line) = text_of(status_to_json([strange], StatusRequest(), ALL_TOOLS)).split("\n")
    assert line == "running scout r1 (session: s1): " + ("a b " * 100)[:59] + "…"


def test_an_answer_is_told_up_to_a_limit_and_says_where_the_rest_is() -> None:
    def answer(output: str) -> str:
        run = with_facts(DONE, output=output)
        heard = status_to_json([run], StatusRequest(run_id="r1"), ALL_TOOLS)
        return text_of(heard).partition("\n\n")[2]

    whole = "x" * MAX_SHOWN_OUTPUT
    assert answer(whole) == whole
    cut = view_messages.background_output_cut(MAX_SHOWN_OUTPUT, MAX_SHOWN_OUTPUT + 1, "s1")
    assert answer(whole + "y") == f"{whole}\n{cut}"
    assert answer("") == core_messages.NO_TEXT_OUTPUT


def test_a_stop_tells_what_it_ended_and_what_had_ended_by_then() -> None:
    aborted = with_facts(DONE, run_id="r2", status="aborted", error_message="Stopped on request")
    heard: dict[str, Any] = stopped_to_json([aborted, DONE], [aborted, DONE, RUN], ALL_TOOLS)
    assert text_of(heard) == (
        "Stopped 1 background run.\nbg: 1 running / 3 total\n"
        "aborted scout r2 (session: s1): look around — Stopped on request\n"
        "completed scout r1 (session: s1): look around"
    )
    assert [row["runId"] for row in heard["details"]["runs"]] == ["r2", "r1"]
    assert heard["details"]["counts"]["total"] == 3
    assert not heard["isError"]


def test_a_run_without_a_preset_leaves_no_hole_in_its_line() -> None:
    delegated = with_facts(DONE, preset="", status="aborted")
    assert text_of(stopped_to_json([delegated], [], ALL_TOOLS)).split("\n")[-1] == (
        "aborted r1 (session: s1): look around"
    )


@pytest.mark.parametrize(
    ("family", "call"),
    [
        (
            ALL_TOOLS,
            'delegate_to_subagents {"tasks": [{"name": "dig", "prompt": "Go on.", "resume": "s1"}]}',
        ),
        (PRESET_TOOLS, 'get_subagent_session {"sessionId": "s1"}'),
    ],
)
def test_a_run_without_an_answer_says_what_it_said_last_and_how_to_go_on(
    family: str, call: str
) -> None:
    lost = with_facts(
        DONE, name="dig", status="interrupted", provider="acme", model="big", error_message="lost"
    )
    heard: dict[str, Any] = status_to_json([lost], StatusRequest(run_id="r1"), family)
    assert text_of(heard).split("\n")[2:] == [
        "acme/big · 3 tokens $0.5000",
        f"to go on: {call}",
        f"{view_messages.LAST_WORDS}:",
        "",
        "nothing",
    ]
    (row,) = heard["details"]["runs"]
    assert (row["model"], row["nextCall"]) == ("acme/big", call)
    silent = with_facts(RUN, status="failed", error_message="no such directory")
    again: dict[str, Any] = status_to_json([silent], StatusRequest(run_id="r1"), family)
    (row,) = again["details"]["runs"]
    assert row["nextCall"] is None


# Records in a host's session log


def test_a_launch_is_recorded_whole_and_an_end_in_short() -> None:
    assert run_entry(RUN) == {"version": 1, **ROW}
    assert update_entry(with_facts(DONE, output="x" * 9000)) == {
        "version": 1,
        "runId": "r1",
        "status": "completed",
        "finishedAt": 150,
        "durationMs": 40,
        "errorMessage": None,
        "exitCode": 0,
        "model": None,
        "usage": DONE_ROW["usage"],
        "output": "x" * MAX_ENTRY_OUTPUT,
    }


def test_a_log_is_read_back_in_its_order() -> None:
    other = with_facts(RUN, run_id="r2")
    entries = log(
        (RUN_ENTRY, run_entry(RUN)),
        (RUN_ENTRY, run_entry(other)),
        (UPDATE_ENTRY, update_entry(DONE)),
    )
    # What an update leaves to the run directory.
    ended = replace(with_facts(DONE, stop_reason="", notes=()), progress=RunProgress())
    assert list(rebuild(entries).items()) == [("r1", ended), ("r2", other)]


def test_a_log_tells_whose_usage_was_counted_and_nothing_else_by_it() -> None:
    entries = log((RUN_ENTRY, run_entry(RUN)), (UPDATE_ENTRY, update_entry(DONE)))
    assert usage_counted(entries) == set()
    counted = [*entries, *log((UPDATE_ENTRY, usage_entry(DONE)))]
    assert usage_counted([*counted, None, {"data": 1}, {"data": {"usageTold": 1}}]) == {"r1"}
    assert rebuild(counted) == rebuild(entries)


def test_what_a_log_does_not_tell_truly_is_passed_over() -> None:
    entries = [
        *log((UPDATE_ENTRY, update_entry(DONE))),  # of a run that nobody started
        *log(("of another", run_entry(RUN)), (RUN_ENTRY, {**run_entry(RUN), "runId": 7})),
        {"customType": RUN_ENTRY, "data": "nothing"},
        {"customType": RUN_ENTRY},
        "nothing",
        None,
    ]
    assert rebuild(entries) == {}
    entries = log((RUN_ENTRY, {"runId": "r1", "status": "dancing", "exitCode": True}))
    assert rebuild(entries) == {"r1": record("r1", status="running", attached=False)}


def any_run(status: str, **facts: Any) -> RunRecord:
    ends = ("finished_at_ms", "output", "error_message", "exit_code", "stop_reason", "notes")
    left_out = ends if status == "running" else ()
    heard = {name: fact for name, fact in facts.items() if name not in left_out}
    return record(status=status, attached=False, **heard)


runs = st.builds(
    any_run,
    run_id=texts,
    session_id=texts,
    preset=texts,
    task=texts,
    cwd=texts,
    requested_model=texts,
    resolved_model=texts,
    created_at_ms=numbers,
    path=texts,
    started_at_ms=numbers,
    status=st.sampled_from(["running", "completed", "failed", "aborted"]),
    finished_at_ms=numbers,
    duration_ms=numbers,
    output=texts,
    error_message=texts,
    exit_code=st.none() | st.integers(),
    stop_reason=texts,
    usage=usages,
    notes=st.lists(texts, max_size=2).map(tuple),
)


@thoroughly
@given(runs)
def test_every_run_is_the_same_when_it_was_logged_and_read(run: RunRecord) -> None:
    entries = json.loads(json.dumps(log((RUN_ENTRY, run_entry(run)))))
    assert rebuild(entries) == {run.run_id: run}


@thoroughly
@given(st.lists(runs, max_size=4), texts)
def test_every_run_can_be_told_as_json(known: list[RunRecord], run_id: str) -> None:
    for request in (StatusRequest(), StatusRequest(run_id), StatusRequest(include_completed=True)):
        heard: dict[str, Any] = json.loads(json.dumps(status_to_json(known, request, ALL_TOOLS)))
        amounts = dict(heard["details"]["counts"])
        assert amounts.pop("total") == sum(amounts.values()) == len(known)


names = st.sampled_from([*ROW, "version"])
entries_of_any_kind = json_values | st.fixed_dictionaries(
    {
        "customType": st.sampled_from([RUN_ENTRY, UPDATE_ENTRY]) | texts,
        "data": json_values
        | st.dictionaries(names, json_values, max_size=8)
        | json_objects.map(lambda data: {**data, "runId": "r1"}),
    }
)


@thoroughly
@given(st.lists(entries_of_any_kind, max_size=5))
def test_any_log_can_be_read(entries: list[object]) -> None:
    found = rebuild(entries)
    for run_id, run in found.items():
        assert run.run_id == run_id
        assert background_status(run) in ("running", "completed", "failed", "aborted")
    json.dumps([run_entry(run) for run in found.values()])
    assert counts(found.values())["total"] == len(found)


def test_every_field_has_a_name_in_json() -> None:
    assert set(run_entry(RUN)) == {*ROW, "version"}
