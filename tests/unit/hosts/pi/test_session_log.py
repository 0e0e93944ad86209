from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import (
    briefly,
    events,
    json_objects,
    json_values,
    texts,
    thoroughly,
    usages,
)

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.session.history import (
    ENTRY_TYPE,
    MAX_MESSAGES,
    MAX_TEXT_BYTES,
    entry_of,
    keep_messages,
    output_text,
)
from pi_subagents.core.session.recent import MAX_SESSIONS, Session
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.hosts.pi.session_log import run_of_entry, sessions_of_log

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

RUN = record(
    run_id="a" * 32,
    session_id="5" * 16,
    name="count",
    status="failed",
    messages=(ev.UserMessage("Count."), ev.AssistantMessage("Not yet.")),
    error_message="429",
    exit_code=1,
    model="big",
    task="Count.",
    usage=Usage(1, 2, 3, 4, 10, 0.5),
    started_at_ms=1_700_000_000_000,
)
ENTRY = {
    "version": 1,
    "runId": "a" * 32,
    "sessionId": "5" * 16,
    "taskName": "count",
    "status": "failed",
    "output": "Not yet.",
    "errorMessage": "429",
    "exitCode": 1,
    "model": "big",
    "usage": {
        "input": 1,
        "output": 2,
        "cacheRead": 3,
        "cacheWrite": 4,
        "totalTokens": 10,
        "cost": {"total": 0.5},
    },
    "startedAt": 1_700_000_000_000,
}
ENDED = ("completed", "failed", "aborted", "interrupted")
stored_runs = st.builds(
    record,
    run_id=texts,
    session_id=texts.filter(bool),
    name=texts,
    status=st.sampled_from(ENDED),
    messages=st.lists(events, max_size=5).map(keep_messages),
    output=texts,
    error_message=texts,
    exit_code=st.none() | st.integers(-64, 255),
    model=texts,
    task=texts,
    usage=usages,
    started_at_ms=st.integers(0, 2**52),
)


# What we write


def test_an_entry_is_compact_and_versioned() -> None:
    assert entry_of(RUN) == ENTRY
    bare = record("", "s", "", "completed")
    assert entry_of(bare) == {
        "version": 1, "runId": "", "sessionId": "s", "taskName": "", "status": "completed",
        "output": "", "errorMessage": None, "exitCode": None, "model": None,
        "usage": usage_to_json(Usage()), "startedAt": 0,
    }  # fmt: skip


@thoroughly
@given(stored_runs)
def test_an_entry_can_be_read_back_without_the_messages(run: RunRecord) -> None:
    spoken = output_text(run)
    kept = "" if spoken == messages.NO_TEXT_OUTPUT else spoken
    read = run_of_entry(json.loads(json.dumps(entry_of(run))))
    assert read == with_facts(run, messages=(), task="", output=kept)
    assert entry_of(read) == entry_of(run)


@pytest.mark.parametrize("character", ["x", "é", "🎈", "\udfff"])
@pytest.mark.parametrize("field", ["output", "error_message", "name", "model"])
def test_a_long_text_is_cut_at_8_kb_and_says_so(field: str, character: str) -> None:
    text = "x" + character * MAX_TEXT_BYTES  # the limit falls into a character
    read = run_of_entry(entry_of(with_facts(RUN, **{field: text})))
    assert read is not None
    kept, mark = getattr(read, field).split("\n")
    size = len(f"{kept}\n{mark}".encode())
    assert MAX_TEXT_BYTES - 4 - len("[cut: 8000 more characters]") < size <= MAX_TEXT_BYTES
    assert text.encode("utf-8", "replace").decode().startswith(kept)
    assert mark == f"[cut: {len(text) - len(kept)} more characters]"
    again = run_of_entry(entry_of(read))
    assert again == read


def test_a_text_of_exactly_8_kb_is_whole() -> None:
    text = "é" * (MAX_TEXT_BYTES // 2)
    assert entry_of(with_facts(RUN, output=text))["output"] == text
    assert entry_of(with_facts(RUN, output=text + "x"))["output"] != text + "x"


# What the original wrote

USAGE = {"input": 7, "output": 3, "totalTokens": 10, "cost": {"total": 0.25}}
MESSAGES: list[object] = [
    {"role": "user", "content": [{"type": "text", "text": "Count the files."}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Let me"},
            {"type": "text", "text": "look."},
            {"type": "toolCall", "id": "1", "name": "bash", "arguments": {"command": "ls"}},
        ],
        "stopReason": "toolUse",
        "provider": "acme",
        "model": "big",
        "usage": USAGE,
    },
    {
        "role": "toolResult",
        "toolCallId": "1",
        "toolName": "bash",
        "content": [{"type": "text", "text": "a.py"}, {"type": "image", "data": "AAAA"}],
        "isError": True,
    },
    {"role": "assistant", "content": "One.", "stopReason": "stop", "usage": USAGE},
]
FULL = {
    "sessionId": "0123456789abcdef",
    "taskName": "count",
    "prompt": "Count the files.",
    "profile": "reader",
    "status": "completed",
    "messages": MESSAGES,
    "model": "big",
    "stopReason": "stop",
    "exitCode": 0,
    "startedAt": 1_700_000_000_000,
    "completedAt": 1_700_000_009_000,
}
used = Usage(input=7, output=3, total_tokens=10, cost=0.25)
FULL_RUN = record(
    run_id="",
    session_id="0123456789abcdef",
    name="count",
    status="completed",
    messages=(
        ev.UserMessage("Count the files."),
        ev.AssistantMessage(
            "Let me\nlook.",
            (ev.ToolCall("1", "bash", {"command": "ls"}),),
            "toolUse",
            "",
            "acme",
            "big",
            used,
        ),
        ev.ToolFinished("1", "bash", "a.py", failed=True),
        ev.AssistantMessage("One.", stop_reason="stop", usage=used),
    ),
    exit_code=0,
    model="big",
    task="Count the files.",
    usage=used + used,
    started_at_ms=1_700_000_000_000,
)


def test_a_full_entry_is_read_with_its_messages() -> None:
    assert run_of_entry(FULL) == FULL_RUN


def test_other_spellings_are_understood() -> None:
    other = {
        "sessionId": "s", "name": "n", "status": "error", "messages": [], "error": "broken",
        "startTime": 1_700_000_000_000.5, "runId": "r", "output": "so far",
    }  # fmt: skip
    assert run_of_entry(other) == record(
        "r", "s", "n", "failed", error_message="broken", output="so far",
        started_at_ms=1_700_000_000_000,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("completed", "completed"),
        ("error", "failed"),
        ("failed", "failed"),
        ("aborted", "aborted"),
        ("interrupted", "interrupted"),
    ],
)
def test_an_ended_run_stays_as_it_ended(said: str, status: str) -> None:
    for entry in (ENTRY, FULL):
        read = run_of_entry({**entry, "status": said, "errorMessage": "why"})
        assert read is not None
        assert (read.status, read.error_message) == (status, "why")


@pytest.mark.parametrize("said", ["running", "planned", "starting", "stopping"])
def test_what_was_left_running_is_an_error_with_the_words_of_the_seed(said: str) -> None:
    for entry, run in ((ENTRY, with_facts(RUN, messages=(), task="")), (FULL, FULL_RUN)):
        read = run_of_entry({**entry, "status": said, "errorMessage": None})
        assert read is not None
        assert read.tool_status == "error"
        assert with_facts(read, output="") == with_facts(
            run,
            status="interrupted",
            error_message="Session was interrupted (main agent session ended unexpectedly)",
        )


def test_of_many_messages_the_task_and_the_latest_are_kept() -> None:
    many = [{"role": "user", "content": str(i)} for i in range(2 * MAX_MESSAGES)]
    read = run_of_entry({**FULL, "messages": many})
    assert read is not None
    numbers = (0, *range(MAX_MESSAGES + 1, 2 * MAX_MESSAGES))
    assert read.messages == tuple(ev.UserMessage(str(i)) for i in numbers)


def test_messages_that_are_none_of_ours_are_left_out() -> None:
    strange: list[object] = [
        None,
        7,
        [],
        {},
        {"role": "system", "content": "x"},
        {"role": ["user"]},
    ]
    assert run_of_entry({**FULL, "messages": [*strange, *MESSAGES, *strange]}) == FULL_RUN


# Whatever else is there


@pytest.mark.parametrize(
    "data",
    [
        None, True, 7, "x", [], {}, [ENTRY],
        {**ENTRY, "version": 2}, {**ENTRY, "version": "1"}, {**ENTRY, "version": True},
        {**ENTRY, "version": None}, {**FULL, "version": None},
        {**ENTRY, "sessionId": ""}, {**ENTRY, "sessionId": 7}, {**FULL, "sessionId": None},
        {**ENTRY, "status": "from the future"}, {**ENTRY, "status": ["completed"]},
        {**FULL, "status": None},
        {**FULL, "messages": None}, {**FULL, "messages": {}}, {**FULL, "messages": "x"},
        {key: value for key, value in FULL.items() if key != "messages"},
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_understood_is_none(data: object) -> None:
    assert run_of_entry(data) is None


@pytest.mark.parametrize(
    "moment",
    [
        None,
        True,
        "2024-01-01T00:00:00Z",
        -1,
        10**400,
        1e300,
        float("nan"),
        float("inf"),
        8.64e15 + 2,
    ],
)
def test_a_moment_that_no_clock_can_have_said_is_unknown(moment: object) -> None:
    assert run_of_entry({**FULL, "startedAt": moment}) == with_facts(FULL_RUN, started_at_ms=0)
    spelled = {**FULL, "startedAt": moment, "startTime": 5}
    assert run_of_entry(spelled) == with_facts(FULL_RUN, started_at_ms=5)


@pytest.mark.parametrize("code", [None, True, "0", 0.5, [0]])
def test_an_exit_code_is_a_whole_number_or_unknown(code: object) -> None:
    assert run_of_entry({**FULL, "exitCode": code}) == with_facts(FULL_RUN, exit_code=None)


@thoroughly
@given(json_values)
def test_reading_is_total_on_json(data: object) -> None:
    assert run_of_entry(data) is None


@thoroughly
@given(st.sampled_from([ENTRY, FULL]), json_values, st.data())
def test_reading_is_total_on_damaged_entries(
    whole: dict[str, object], value: object, data: st.DataObject
) -> None:
    spoiled = data.draw(st.sets(st.sampled_from(sorted(whole))))
    read = run_of_entry({**whole, **dict.fromkeys(spoiled, value)})
    if read is not None:
        assert read.tool_status in ("completed", "error")
        json.dumps(entry_of(read))


@briefly
@given(st.sampled_from([0, 1, 2, 3]), json_objects, json_values, st.data())
def test_reading_is_total_on_damaged_messages(
    which: int, others: dict[str, object], value: object, data: st.DataObject
) -> None:
    message = MESSAGES[which]
    assert isinstance(message, dict)
    spoiled = data.draw(st.sets(st.sampled_from(sorted(message))))
    damaged = {**message, **dict.fromkeys(spoiled, value), **others}
    read = run_of_entry({**FULL, "messages": [damaged, message]})
    assert read is not None
    assert len(read.messages) in (1, 2)
    json.dumps(entry_of(read))


# A whole log


def begun(number: int, session: str = "", status: str = "completed") -> RunRecord:
    """Return a run that was begun at `number`, in a session of its own unless one is named."""
    return record(f"r{number}", session or f"s{number}", "n", status, started_at_ms=number + 1)


def logged(data: object, kind: object = ENTRY_TYPE) -> dict[str, object]:
    return {"type": "custom", "id": "1", "customType": kind, "data": data}


def test_a_view_is_rebuilt_from_the_entries_of_a_log() -> None:
    began, ended = begun(1, "s", "running"), begun(1, "s")
    again, lost = begun(2, "s"), begun(3, "t", "running")
    log: list[object] = [
        {"type": "session", "version": 3},
        logged(entry_of(began)),
        logged(entry_of(begun(7)), kind="another-extension"),
        logged(entry_of(begun(8)), kind=None),
        logged({"broken": True}),
        {"customType": ENTRY_TYPE, "content": "a message, no data"},
        logged(entry_of(ended)),
        None,
        logged(entry_of(again)),
        logged(entry_of(lost)),
    ]
    message = "Session was interrupted (main agent session ended unexpectedly)"
    assert sessions_of_log(log).sessions() == [
        Session("t", (with_facts(begun(3, "t", "interrupted"), error_message=message),)),
        Session("s", (ended, again)),
    ]


def test_a_rebuilt_view_is_bounded() -> None:
    view = sessions_of_log(logged(entry_of(begun(i, status="running"))) for i in range(100))
    assert [each.session_id for each in view.sessions()] == [
        f"s{i}" for i in range(99, 99 - MAX_SESSIONS, -1)
    ]


@briefly
@given(st.lists(json_values | json_values.map(logged), max_size=5))
def test_a_log_of_anything_rebuilds_nothing(log: list[object]) -> None:
    assert sessions_of_log(log).sessions() == []
