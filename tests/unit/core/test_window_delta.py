from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import events as ev
from pi_subagents.core.window import MAX_HISTORY, Window, WindowBuilder, WindowLine, WindowTitle
from pi_subagents.core.window_delta import (
    LINE_OVERHEAD,
    MAX_DELTA_BYTES,
    WindowDeltas,
    latest,
    line_bytes,
    places,
)
from pi_subagents.core.window_view import lines_to_json

TITLE = WindowTitle("t")


def said(text: str) -> ev.AssistantMessage:
    return ev.AssistantMessage(text, (), "toolUse")


def listed(number: int) -> list[ev.Event]:
    """Return a listing whose result comes with the second event."""
    call = ev.ToolCall(f"c{number}", "ls", {"path": f"d{number}"})
    return [
        ev.AssistantMessage("", (call,), "toolUse"),
        ev.ToolFinished(f"c{number}", "ls", "a\nb", False),
    ]


happenings = st.lists(
    st.sampled_from(["say", "say much", "call", "finish", "tell"]) | st.just("tell"), max_size=40
)


class Face:
    """What a shim keeps: at most so many lines, and how many it was told there are."""

    def __init__(self) -> None:
        self.history: list[dict[str, str]] = []

    def take(self, delta: dict[str, Any]) -> None:
        self.history[len(self.history) - delta.get("replaceLast", 0) :] = delta["append"]
        del self.history[:-MAX_HISTORY]


@thoroughly
@given(happenings)
def test_a_face_that_takes_every_delta_shows_what_the_window_does(what: list[str]) -> None:
    builder = WindowBuilder(TITLE, cwd="/", home="/")
    deltas, face = WindowDeltas(), Face()
    calls: list[int] = []
    for number, each in enumerate([*what, "tell"]):
        match each:
            case "say":
                builder.apply(said(f"line {number % 3}"), 0)
            case "say much":
                builder.apply(said("\n".join(f"{n % 7}" for n in range(MAX_HISTORY - 3))), 0)
            case "call":
                builder.apply(listed(number)[0], 0)
                calls.append(number)
            case "finish" if calls:
                builder.apply(listed(calls.pop(0))[1], 0)
            case "tell":
                window = builder.window(0)
                for delta in deltas.since([window]):
                    face.take(delta)
                    assert delta["total"] == window.line_count
                assert face.history == lines_to_json(window.history)
                assert deltas.since([window]) == []


def test_only_what_changed_is_told_and_time_alone_is_no_change() -> None:
    deltas = WindowDeltas()
    one, two = Window(TITLE, "running", elapsed_ms=1), Window(WindowTitle("u"), "running")
    assert [each["index"] for each in deltas.since([one, two])] == [0, 1]
    assert deltas.since([replace(one, elapsed_ms=2), two]) == []
    (delta,) = deltas.since([one, replace(two, call_count=3)])
    assert (delta["index"], delta["callCount"]) == (1, 3)
    assert "title" not in delta
    assert "place" not in delta
    assert "replaceLast" not in delta


def test_the_same_words_again_are_told_by_their_number() -> None:
    lines = (WindowLine("x", "text"),) * MAX_HISTORY
    deltas = WindowDeltas()
    deltas.since([Window(TITLE, "running", history=lines, line_count=MAX_HISTORY)])
    (delta,) = deltas.since([Window(TITLE, "running", history=lines, line_count=MAX_HISTORY + 1)])
    assert (delta["append"], delta["total"]) == ([{"text": "x", "kind": "text"}], MAX_HISTORY + 1)


def test_a_title_is_told_first_and_whenever_it_is_another() -> None:
    deltas = WindowDeltas()
    (first,) = deltas.since([Window(TITLE)])
    assert first["title"] == {
        "name": "t", "profile": None, "provider": None, "model": None, "thinkingLevel": None,
        "toolCount": 0, "fileCount": 0, "timeoutS": 600, "sessionId": None,
    }  # fmt: skip
    (second,) = deltas.since([Window(replace(TITLE, model="m"))])
    assert isinstance(second["title"], dict)
    assert second["title"]["model"] == "m"


def test_who_waits_knows_its_place_and_is_told_when_it_moves_up() -> None:
    queued, running = Window(TITLE), Window(TITLE, "running")
    assert places([running, queued, running, queued]) == [None, 1, None, 2]
    deltas = WindowDeltas()
    assert [each["place"] for each in deltas.since([queued, queued])] == [1, 2]
    moved = deltas.since([running, queued])
    assert [(each["index"], each.get("place")) for each in moved] == [(0, None), (1, 1)]


def test_of_too_many_lines_the_latest_are_told() -> None:
    lines = tuple(WindowLine(f"{n:04} " + "ü" * 995, "text") for n in range(100))
    (delta,) = WindowDeltas().since([Window(TITLE, history=lines, line_count=100)])
    told = delta["append"]
    assert isinstance(told, list)
    assert told == lines_to_json(lines)[-len(told) :]
    assert len(told) == MAX_DELTA_BYTES // (5 + 2 * 995 + LINE_OVERHEAD)
    assert delta["total"] == 100


def test_lines_that_are_told_twice_count_twice() -> None:
    lines = [WindowLine("x" * (100 - LINE_OVERHEAD), "text")] * 9
    assert line_bytes(lines[0]) == 100
    assert [len(latest(lines, 500, twice=n)) for n in (0, 1, 2, 9)] == [5, 4, 3, 2]
    assert list(latest(lines, 900)) == lines
    assert list(latest(lines, 99)) == []
