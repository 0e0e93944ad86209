from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.view.picture import part_to_json, row_bytes, rows_to_json
from pi_subagents.view.window import MAX_HISTORY, Window, WindowBuilder, WindowLine, WindowTitle
from pi_subagents.view.window_delta import MAX_DELTA_BYTES, WindowDeltas
from pi_subagents.view.window_picture import line_row, place_of_lines, window_picture

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


class Painter:
    """What a shim keeps: of each part how it is shown, and at most so many rows."""

    def __init__(self) -> None:
        self.parts: dict[int, dict[str, Any]] = {}

    def take(self, deltas: list[dict[str, Any]]) -> None:
        for delta in deltas:
            heard = dict(delta)
            part = self.parts.setdefault(heard.pop("at"), {"rows": []})
            rows = part["rows"]
            drop = heard.pop("drop", 0)
            rows[len(rows) - drop :] = heard.pop("add")
            del rows[:-MAX_HISTORY]
            part |= heard


def whole(window: Window) -> list[dict[str, object]]:
    lines = [line_row(line) for line in window.history]
    return [part_to_json(part) for part in window_picture([window], [lines], 9)]


@thoroughly
@given(happenings)
def test_a_painter_that_takes_every_delta_shows_what_the_window_does(what: list[str]) -> None:
    builder = WindowBuilder(TITLE, cwd="/", home="/")
    deltas, painter = WindowDeltas(9), Painter()
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
                window = builder.window(number * 400)
                painter.take(deltas.since([window]))
                assert list(painter.parts.values()) == whole(window)
                assert deltas.since([window]) == []


def test_at_first_everything_is_told_with_how_it_is_shown() -> None:
    window = Window(TITLE, "running", history=(WindowLine.said("x"),), line_count=1)
    heard = [
        {"at": at, **{key: part[key] for key in part if key != "rows"}, "add": part["rows"]}
        for at, part in enumerate(whole(window))
    ]
    assert WindowDeltas(9).since([window]) == heard


def test_only_what_changed_is_told_and_a_part_of_a_second_is_no_change() -> None:
    deltas = WindowDeltas(9)
    one, two = Window(TITLE, "running", elapsed_ms=1), Window(WindowTitle("u"), "running")
    deltas.since([one, two])
    assert deltas.since([replace(one, elapsed_ms=999), replace(two, call_count=3)]) == []
    later = replace(one, elapsed_ms=1000)
    header = rows_to_json(window_picture([later], [()], 9)[2].rows)
    assert deltas.since([later, two]) == [{"at": 2, "drop": 1, "add": header}]
    failed = replace(two, status="error", error_message="why", **lines(1))
    at = place_of_lines(1)
    assert [(each["at"], each.get("drop")) for each in deltas.since([later, failed])] == [
        (0, 1), (at - 1, 1), (at, None), (at + 1, 1), (at + 2, 2),
    ]  # fmt: skip


def lines(count: int, text: str = "x") -> dict[str, Any]:
    made = tuple(WindowLine.said(text) for _ in range(count))
    return {"history": made[-MAX_HISTORY:], "line_count": count}


def test_the_same_words_again_are_told_by_their_number() -> None:
    deltas = WindowDeltas(9)
    deltas.since([Window(TITLE, "running", **lines(MAX_HISTORY))])
    heard = deltas.since([Window(TITLE, "running", **lines(MAX_HISTORY + 1))])
    assert heard == [{"at": place_of_lines(0), "add": [["x"]]}]


def test_a_line_that_was_written_anew_replaces_itself() -> None:
    deltas = WindowDeltas(9)
    deltas.since([Window(TITLE, "running", **lines(3))])
    one, *_ = lines(3)["history"]
    changed = (one, WindowLine.said("y"), WindowLine.said("z"), WindowLine.said("new"))
    heard = deltas.since([Window(TITLE, "running", history=changed, line_count=4)])
    assert heard == [{"at": place_of_lines(0), "drop": 2, "add": [["y"], ["z"], ["new"]]}]


def test_who_waits_is_told_when_it_moves_up() -> None:
    queued, running = Window(TITLE), Window(TITLE, "running")
    deltas = WindowDeltas(9)
    deltas.since([queued, queued])
    moved = {each["at"]: each["add"] for each in deltas.since([running, queued])}
    assert "queued, place 1" in str(moved[place_of_lines(1) - 1])
    assert list(moved) == [0, 2, 4, 6, 9]


def test_of_too_many_lines_the_latest_are_told() -> None:
    many = tuple(WindowLine.said(f"{n:04} " + "ü" * 995) for n in range(100))
    heard = WindowDeltas(9).since([Window(TITLE, history=many, line_count=100)])
    added = heard[place_of_lines(0)]["add"]
    assert isinstance(added, list)
    rows = [line_row(line) for line in many]
    assert added == rows_to_json(rows)[-len(added) :]
    assert len(added) == MAX_DELTA_BYTES // row_bytes(rows[0])
