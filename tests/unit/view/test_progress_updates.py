"""What a host repeats in its stream: the words of windows and formatter, within bounds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, events, texts

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.view.progress_updates import (
    MAX_LINE,
    MAX_WAITING,
    MAX_WORDS,
    Allowance,
    WindowUpdates,
    WordUpdates,
)
from pi_subagents.view.window import Window, WindowBuilder, WindowLine, WindowTitle

MAX_UPDATE = 48 * 1024
READ = ev.ToolCall("c1", "read", {"path": "src/auth.ts"})


def text_of(update: Any) -> str:
    (entry,) = update["content"]
    assert entry["type"] == "text"
    text: str = entry["text"]
    return text


def size(update: object) -> int:
    return len(json.dumps(update, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def lines(*said: str) -> dict[str, Any]:
    made = tuple(WindowLine.said(text) for text in said)
    return {"lines": made[-15:], "history": made, "line_count": len(made)}


# Windows


def test_a_delegation_is_told_as_its_windows_look() -> None:
    first = Window(
        WindowTitle("one", session_id="a" * 16), "running", elapsed_ms=2000, call_count=1
    )
    first = replace(first, **lines("Two files."))
    second = Window(WindowTitle("two", session_id="b" * 16))
    update = WindowUpdates().next([first, second], 15)
    assert update == {
        "content": [
            {
                "type": "text",
                "text": "Sub-agents: 1 running, 1 queued\n\n⏳ one • 2s/600s\n  Two files.\n\n"
                "⏳ two • queued, place 1",
            }
        ],
        "details": {
            "status": "running",
            "maxLines": 15,
            "windows": [
                {
                    "name": "one", "status": "running", "callCount": 1, "elapsedMs": 2000,
                    "errorMessage": None, "lines": [{"text": "Two files.", "kind": "text"}],
                },
                {
                    "name": "two", "status": "queued", "callCount": 0, "elapsedMs": 0,
                    "errorMessage": None, "lines": [],
                },
            ],
            "sessionIds": ["a" * 16, "b" * 16],
        },
    }  # fmt: skip


def test_calls_have_their_mark_and_what_they_found_is_news() -> None:
    builder = WindowBuilder(WindowTitle("t"), cwd="/p", home="/h")
    builder.apply(ev.AssistantMessage("", (ev.ToolCall("c", "ls", {"path": "src"}),)), 0)
    updates = WindowUpdates()
    first = updates.next([builder.window(0)], 15)
    assert text_of(first).splitlines()[-1] == "  → ls → src"
    builder.apply(ev.ToolFinished("c", "ls", "a\nb", failed=False), 0)
    assert text_of(updates.next([builder.window(0)], 15)).splitlines()[-1] == (
        "  → ls → src → 2 files"
    )
    assert updates.next([builder.window(5000)], 15) is None, "a clock is no news"


def test_only_the_latest_lines_are_told_and_those_that_are_few_are_whole() -> None:
    loud = replace(
        Window(WindowTitle("loud"), "running"), **lines(*(f"{n} " + "x" * 900 for n in range(40)))
    )
    quiet = replace(Window(WindowTitle("quiet"), "running"), **lines("hush", "well"))
    update: Any = WindowUpdates().next([loud, quiet], 15)
    shown = [[line["text"] for line in row["lines"]] for row in update["details"]["windows"]]
    assert shown[1] == ["hush", "well"]
    assert shown[0][-1].startswith("39 ")
    assert 10 <= len(shown[0]) <= 15
    assert max(map(len, shown[0])) == MAX_LINE


def test_an_error_ends_the_text_and_notes_are_left_to_the_answer() -> None:
    window = Window(WindowTitle("t"), "error", error_message="e" * 900, notes=("n" * 900,))
    heard = text_of(WindowUpdates().next([window], 15)).splitlines()
    assert heard[-2:] == ["  (no output)", "  Error: " + "e" * (MAX_LINE - 1) + "…"]


@briefly
@given(st.lists(st.lists(texts, max_size=40), min_size=1, max_size=16), texts)
def test_no_window_makes_an_update_large(said: list[list[str]], name: str) -> None:
    windows = [
        replace(
            Window(WindowTitle(name * 50, profile=name), "running", error_message=name * 50),
            **lines(*(f"{text}{number}" * 20 for number, text in enumerate(each))),
        )
        for each in said
    ]
    update = WindowUpdates().next(windows, 15)
    assert size(update) < MAX_UPDATE


# Words


def test_each_of_the_formatters_texts_is_an_update_in_its_order() -> None:
    updates = WordUpdates()
    happened: list[ev.Event] = [
        ev.AssistantMessage("I look at the auth flow.", (READ,)),
        ev.ToolStarted(READ),
        ev.ToolFinished("c1", "read", "x", failed=False),
        ev.AssistantMessage("  "),
        ev.StateChanged("running"),
        ev.AssistantMessage("All is well."),
    ]
    for event in happened:
        updates.note(0, event)
    updates.note(0, RunResult("r", "s", "t", "completed"))
    window = Window(WindowTitle("scout"), "running")
    heard = [text_of(updates.next([window], 15)) for _ in range(4)]
    assert heard == [
        "I look at the auth flow.",
        "Reading src/auth.ts",
        "Finished reading src/auth.ts",
        "All is well.",
    ]
    assert updates.next([window], 15) is None


def test_of_several_sub_agents_each_has_its_latest_words_in_a_line() -> None:
    windows = [Window(WindowTitle(f"scout-{n}"), "running") for n in (1, 2)]
    updates = WordUpdates()
    updates.note(1, ev.AssistantMessage("I begin.\nSlowly."))
    updates.note(0, ev.ToolStarted(READ))
    updates.note(1, ev.AssistantMessage("I end."))
    heard = [text_of(updates.next(windows, 15)) for _ in range(3)]
    assert heard == [
        "scout-2: I begin. Slowly.",
        "scout-1: Reading src/auth.ts\nscout-2: I begin. Slowly.",
        "scout-1: Reading src/auth.ts\nscout-2: I end.",
    ]


def test_words_for_which_there_was_no_room_give_way_to_the_latest_of_each() -> None:
    windows = [Window(WindowTitle(f"scout-{n}"), "running") for n in (1, 2)]
    updates = WordUpdates()
    for number in range(5):
        updates.note(0, ev.AssistantMessage(f"first {number}"))
    updates.note(1, ev.AssistantMessage("second"))
    updates.skip()
    assert text_of(updates.next(windows, 15)) == "scout-1: first 4"
    assert text_of(updates.next(windows, 15)) == "scout-1: first 4\nscout-2: second"
    assert updates.next(windows, 15) is None


@briefly
@given(st.lists(st.tuples(st.integers(0, 15), events), max_size=60), st.integers(1, 16))
def test_words_are_bounded_whatever_happens(
    happened: list[tuple[int, ev.Event]], count: int
) -> None:
    windows = [Window(WindowTitle("n" * 900), "running") for _ in range(count)]
    updates = WordUpdates()
    for index, event in happened:
        updates.note(index % count, event)
    heard = []
    while (update := updates.next(windows, 15)) is not None:
        heard.append(update)
    assert len(heard) <= MAX_WAITING
    assert all(size(each) < MAX_UPDATE for each in heard)


def test_very_long_words_are_told_in_their_beginning() -> None:
    updates = WordUpdates()
    updates.note(0, ev.AssistantMessage("x" * 100_000))
    words = text_of(updates.next([Window(WindowTitle("t"), "running")], 15))
    assert (len(words), words[-1]) == (MAX_WORDS, "…")


def test_the_words_are_those_of_the_transcript() -> None:
    formatter, updates = ProgressFormatter(), WordUpdates()
    failed = ev.ToolFinished("c1", "read", "no such file", failed=True)
    for event in (ev.ToolStarted(READ), failed, ev.Note("slow"), ev.ErrorText("oops")):
        updates.note(0, event)
        window = Window(WindowTitle("t"), "running")
        assert text_of(updates.next([window], 15)) == formatter.text(event)


# How much


def test_an_allowance_is_spent_and_grows_again_with_time_up_to_its_burst() -> None:
    allowance = Allowance(burst=100, per_s=10)
    assert allowance.has_room(0)
    allowance.take(130)
    assert not allowance.has_room(2)
    assert not allowance.has_room(3)
    assert allowance.has_room(3.1)
    allowance.take(51)
    assert not allowance.has_room(8)
    assert allowance.has_room(1000)
    allowance.take(100)
    assert not allowance.has_room(1000)


@briefly
@given(
    st.lists(st.tuples(st.floats(0, 10), st.integers(1, 10_000)), max_size=100),
    st.integers(1, 10_000),
    st.integers(0, 1000),
)
def test_what_is_sent_stays_within_burst_rate_and_one_more(
    wanted: list[tuple[float, int]], burst: int, per_s: int
) -> None:
    allowance = Allowance(burst, per_s)
    now_s, sent = 0.0, 0
    for pause_s, size in wanted:
        now_s += pause_s
        if allowance.has_room(now_s):
            allowance.take(size)
            sent += size
    assert sent <= burst + per_s * now_s + 10_000 + 1
