from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, events, json_objects, json_values, thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import (
    MAX_ARGUMENTS,
    MAX_TEXT,
    JournalEntry,
    bounded,
    decode_entry,
    encode_entry,
)
from pi_subagents.core.usage import Usage

EXAMPLES: list[tuple[ev.Event, dict[str, object]]] = [
    (ev.StateChanged("running"), {"kind": "state", "state": "running"}),
    (ev.UserMessage("hello"), {"kind": "user", "text": "hello"}),
    (
        ev.AssistantMessage(
            "hi", (ev.ToolCall("c", "read", {"path": "a"}),), "toolUse", "e", "p", "m",
            Usage(1, 2, 3, 4, 10, 0.5),
        ),
        {
            "kind": "assistant",
            "text": "hi",
            "toolCalls": [{"id": "c", "name": "read", "arguments": {"path": "a"}}],
            "stopReason": "toolUse",
            "errorMessage": "e",
            "provider": "p",
            "model": "m",
            "usage": {
                "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
                "cost": {"total": 0.5},
            },
        },
    ),
    (
        ev.ToolStarted(ev.ToolCall("c", "ls", None)),
        {"kind": "tool_call", "id": "c", "name": "ls", "arguments": None},
    ),
    (
        ev.ToolFinished("c", "ls", "out", failed=True),
        {"kind": "tool_result", "id": "c", "name": "ls", "text": "out", "failed": True},
    ),
    (ev.Limited("acme"), {"kind": "limited", "provider": "acme", "text": ""}),
    (
        ev.Limited("acme", 20, 5, "busy"),
        {"kind": "limited", "provider": "acme", "text": "busy", "afterS": 20, "until": 5},
    ),
    (
        ev.Retrying(1, 3, 2000, "busy"),
        {"kind": "retry", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "busy"},
    ),
    (ev.Settled(), {"kind": "settled"}),
    (ev.OutputText("x"), {"kind": "output", "text": "x"}),
    (ev.ErrorText("x"), {"kind": "stderr", "text": "x"}),
    (ev.Note("x"), {"kind": "note", "text": "x"}),
    (
        ev.Steer("7", ev.REFUSED, "faster", "too late"),
        {"kind": "steer", "number": "7", "status": "refused", "text": "faster",
         "reason": "too late"},
    ),
    (
        ev.Asked("1", "Which?", ("a", "b"), 600),
        {"kind": "asked", "number": "1", "text": "Which?", "options": ["a", "b"], "withinS": 600},
    ),
    (
        ev.Replied("1", ev.GIVEN, "a", "", "7f"),
        {"kind": "replied", "question": "1", "status": "given", "text": "a", "reason": "",
         "reply": "7f"},
    ),
    (ev.ValueGiven({"n": [1]}), {"kind": "value", "value": {"n": [1]}}),
    (ev.ValueRefused("/n: no"), {"kind": "value_refused", "problem": "/n: no"}),
    (ev.ValueGiven(None), {"kind": "value", "value": None}),
    (ev.Activity("x"), {"kind": "activity", "of": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("event", "record"), EXAMPLES)
def test_the_format_on_disk_stays_as_it_is(event: ev.Event, record: dict[str, object]) -> None:
    encoded = encode_entry(JournalEntry(7, 1700000000000, event))
    assert json.loads(encoded) == {"v": 1, "seq": 7, "t": 1700000000000, **record}
    assert decode_entry(encoded) == JournalEntry(7, 1700000000000, event)


def test_every_kind_of_event_has_an_example() -> None:
    assert {type(event) for event, _ in EXAMPLES} == set(ev.Event.__args__)


@thoroughly
@given(st.integers(), st.integers(), events)
def test_what_is_written_can_be_read_back(seq: int, time_ms: int, event: ev.Event) -> None:
    entry = JournalEntry(seq, time_ms, event)
    assert decode_entry(encode_entry(entry)) == entry


@briefly
@given(events)
def test_every_entry_is_one_line_of_ascii(event: ev.Event) -> None:
    encoded = encode_entry(JournalEntry(1, 2, event))
    assert encoded.isascii()
    assert (encoded.count(b"\n"), encoded[-1:], len(encoded.splitlines())) == (1, b"\n", 1)


@thoroughly
@given(events, st.data())
def test_half_an_entry_is_none(event: ev.Event, data: st.DataObject) -> None:
    encoded = encode_entry(JournalEntry(1, 2, event)).removesuffix(b"\n")
    cut = data.draw(st.integers(min_value=0, max_value=len(encoded) - 1))
    assert decode_entry(encoded[:cut]) is None


@thoroughly
@given(st.binary(max_size=100))
def test_reading_is_total_on_bytes(data: bytes) -> None:
    decode_entry(data)


@thoroughly
@given(
    st.sampled_from(EXAMPLES), json_objects, st.sampled_from(["v", "seq", "t", "kind"]), json_values
)
def test_reading_is_total_on_damaged_records(
    example: tuple[ev.Event, dict[str, object]],
    others: dict[str, object],
    spoiled: str,
    value: object,
) -> None:
    whole = {"v": 1, "seq": 1, "t": 2, **example[1]}
    for damaged in (
        {**whole, spoiled: value},
        {**whole, **dict.fromkeys(example[1], value)},
        others,
    ):
        decode_entry(json.dumps(damaged).encode())


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"null", b"[]", b"1", b'"v"', b"{}", b"\xff", b"[" * 100_000,
        b'{"v":2,"seq":1,"t":2,"kind":"settled"}',
        b'{"v":1,"seq":1,"t":2}',
        b'{"v":1,"seq":1,"t":2,"kind":"from the future"}',
        b'{"v":1,"t":2,"kind":"settled"}',
        b'{"v":1,"seq":null,"t":2,"kind":"settled"}',
        b'{"v":1,"seq":1e999,"t":2,"kind":"settled"}',
        b'{"v":1,"seq":1,"t":NaN,"kind":"settled"}',
        b'{"v":1,"seq":1,"t":2,"kind":"note","text":7}',
        b'{"v":1,"seq":1,"t":2,"kind":"tool_call"}',
        b'{"v":1,"seq":1,"t":2,"kind":"assistant","text":"","toolCalls":["x"]}',
        b'{"v":1,"seq":1,"t":2,"kind":"assistant","text":"","toolCalls":[]}',
    ],
)  # fmt: skip
def test_damaged_lines_and_other_versions_are_none(raw: bytes) -> None:
    assert decode_entry(raw) is None


@briefly
@given(events)
def test_events_within_the_bounds_are_left_as_they_are(event: ev.Event) -> None:
    assert bounded(event) == event


LONG = "x" * (MAX_TEXT + 5)
CUT = "x" * MAX_TEXT + "\n[cut: 5 more characters]"


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (ev.UserMessage(LONG), ev.UserMessage(CUT)),
        (ev.OutputText(LONG), ev.OutputText(CUT)),
        (ev.ErrorText(LONG), ev.ErrorText(CUT)),
        (ev.Note(LONG), ev.Note(CUT)),
        (ev.Steer("7", ev.DELIVERED, LONG), ev.Steer("7", ev.DELIVERED, CUT)),
        (ev.ToolFinished("c", "t", LONG, failed=True), ev.ToolFinished("c", "t", CUT, failed=True)),
        (ev.AssistantMessage(LONG), ev.AssistantMessage(CUT)),
        (ev.AssistantMessage("", error_message=LONG), ev.AssistantMessage("", error_message=CUT)),
        (ev.Retrying(1, 3, 0, LONG), ev.Retrying(1, 3, 0, CUT)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_long_texts_are_cut_and_say_so(event: ev.Event, kept: ev.Event) -> None:
    assert bounded(event) == kept


def test_long_arguments_are_cut_and_say_so() -> None:
    arguments = {"path": "a.txt", "content": "y" * MAX_ARGUMENTS, "n": 1}
    size = len(json.dumps(arguments))
    kept = ev.ToolCall(
        "c", "write",
        {"path": "a.txt", "content": "[cut]", "n": 1, "[cut]": f"{size} bytes of arguments"},
    )  # fmt: skip
    call = ev.ToolCall("c", "write", arguments)
    assert bounded(ev.ToolStarted(call)) == ev.ToolStarted(kept)
    assert bounded(ev.AssistantMessage("", (call,))) == ev.AssistantMessage("", (kept,))


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "y" * (3 * MAX_ARGUMENTS)},
        {"k" * (3 * MAX_ARGUMENTS): 1},
        {str(i) * 99: "z" * 9999 for i in range(999)},
        {f"{i}" + "k" * 40_000: "z" for i in range(40)},
    ],
    ids=["a long value", "a long key", "many values", "many long keys"],
)
def test_whatever_the_arguments_their_entry_is_bounded(arguments: dict[str, object]) -> None:
    event = bounded(ev.ToolStarted(ev.ToolCall("c", "t", arguments)))
    assert len(encode_entry(JournalEntry(1, 2, event))) < 2 * MAX_ARGUMENTS
