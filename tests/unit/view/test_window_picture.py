from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import (
    added,
    following_line,
    path_call,
    removed,
    steer_line,
    tool_line,
)
from tests.unit.core.given_values import events, texts, thoroughly

from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.view.picture import BLANK, Layout, Part, Row, Span, part_to_json
from pi_subagents.view.todos import TodoCount
from pi_subagents.view.window import (
    Window,
    WindowBuilder,
    WindowLine,
    WindowStatus,
    WindowTitle,
)
from pi_subagents.view.window_picture import line_row, place_of_lines, window_picture

if TYPE_CHECKING:
    from pi_subagents.core.run import events as ev

BUSY = Window(
    WindowTitle("busy", "careful", "acme", "big", "high", 3, 1, 600, "5e"),
    "running",
    todo=TodoCount(1, 3),
    elapsed_ms=61_999,
    usage=Usage(total_tokens=1234, cost=0.01234),
)
PLAIN = Window(WindowTitle("plain", timeout_s=None))


def picture(*windows: Window) -> list[Part]:
    return window_picture(windows, [()] * len(windows), 9)


def row(*spans: Span) -> tuple[Row, ...]:
    return (spans,)


def header_of(window: Window) -> Part:
    return picture(window)[2]


def test_every_part_has_its_place() -> None:
    line = (Span("said"),)
    done = replace(PLAIN, status="completed", title=replace(PLAIN.title, session_id="5e"))
    assert window_picture([BUSY, done], [[line], []], 9) == [
        Part(
            row(
                Span("Sub-agents: ", "bold toolTitle"),
                Span("1 running", "warning"),
                Span(", ", "dim"),
                Span("1 done", "success"),
            )
        ),
        Part((BLANK,)),
        header_of(BUSY),
        Part((line,), Layout("unfold", indent=2, latest=9)),
        Part(row(Span("(starting...)", "muted")), Layout("wrap", indent=2)),
        Part((BLANK,)),
        header_of(done),
        Part((), Layout("unfold", indent=2, latest=9)),
        Part(row(Span("(no output)", "muted")), Layout("wrap", indent=2)),
        Part((BLANK, (Span("1 running...", "muted"),)), Layout("wrap")),
    ]
    assert [place_of_lines(index) for index in (0, 1)] == [3, 7]


def test_a_header_is_said_with_less_and_less_words() -> None:
    begin = (Span("⏳", "warning"), Span(" "), Span("busy", "bold accent"))
    assert header_of(BUSY) == Part(
        tuple(
            (*begin, Span(rest, "dim"))
            for rest in (
                " • careful (acme/big high) • 3 tools • 1 file • [1/3] • 61s/600s • 1.2k tokens $0.0123",
                " • careful (acme/big high) • 3 tools • 1 file • [1/3] • 61s/600s",
                " • careful (acme/big high) • 3 tools • [1/3] • 61s/600s",
                " • careful (acme/big high) • [1/3] • 61s/600s",
                " • [1/3] • 61s/600s",
            )
        ),
        Layout("choose"),
    )


@pytest.mark.parametrize(
    ("window", "icon", "rest"),
    [
        (PLAIN, Span("⏳", "muted"), " • queued, place 1"),
        (replace(PLAIN, status="running"), Span("⏳", "warning"), " • 0s"),
        (replace(PLAIN, status="completed", usage=Usage(total_tokens=999)), Span("✓", "success"),
         " • 0s • 999 tokens"),
        (replace(PLAIN, status="error", elapsed_ms=2000), Span("✗", "error"), " • 2s"),
    ],
)  # fmt: skip
def test_the_colour_of_a_status_and_no_time_for_one_that_waits(
    window: Window, icon: Span, rest: str
) -> None:
    assert header_of(window).rows[0] == (
        icon, Span(" "), Span("plain", "bold accent"), Span(rest, "dim"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        (WindowLine.said("edit → a +1/-1"), [Span("edit → a +1/-1")]),
        (tool_line("bash → ls"), [Span("→ ", "muted"), Span("bash → ls", "muted")]),
        (steer_line("be brief"), [Span("→ ", "muted"), Span("be brief", "accent")]),
        (following_line("│ && true"), [Span("  ", "muted"), Span("│ && true", "muted")]),
        (tool_line("edit → a (1 edit) ", added("+1"), "/", removed("-2")),
         [Span("→ ", "muted"), Span("edit → a (1 edit) ", "muted"), Span("+1", "toolDiffAdded"),
          Span("/", "muted"), Span("-2", "toolDiffRemoved")]),
        (path_call("write", "a/b.py", " ", added("+3")),
         [Span("→ ", "muted"), Span("write → a", "muted"), Span("/b.py ", "muted", kept=True),
          Span("+3", "toolDiffAdded", kept=True)]),
    ],
)  # fmt: skip
def test_calls_are_muted_with_their_figures_in_colours_and_words_are_plain(
    line: WindowLine, spans: list[Span]
) -> None:
    assert line_row(line) == tuple(spans)


@pytest.mark.parametrize(
    ("status", "error_message", "below"),
    [
        ("queued", "", ()),
        ("running", "", row(Span("(starting...)", "muted"))),
        ("completed", "", row(Span("(no output)", "muted"))),
        ("error", "why", ((Span("(no output)", "muted"),), (Span("Error: why", "error"),))),
        (
            "error",
            '401 {"error": {"type": "authentication_error", "message": "invalid x-api-key"}}',
            (
                (Span("(no output)", "muted"),),
                (Span("Error: The provider refused the key (401).", "error"),),
                (Span("Check the key: subagents pi, then /login.", "muted"),),
            ),
        ),
    ],
)
def test_below_a_window_is_said_why_it_has_no_lines_and_why_it_failed(
    status: WindowStatus, error_message: str, below: tuple[Row, ...]
) -> None:
    window = replace(PLAIN, status=status, error_message=error_message)
    assert picture(window)[4].rows == below
    spoken = replace(window, history=(WindowLine.said("x"),))
    assert picture(spoken)[4].rows == below[1:]
    noted = replace(spoken, notes=("one", "two"))
    notes = tuple((Span(f"Note: {note}", "muted"),) for note in noted.notes)
    assert picture(noted)[4].rows == (*below[1:], *notes)


def test_the_status_of_all_has_the_colour_of_each_status() -> None:
    statuses: tuple[WindowStatus, ...] = ("error", "completed", "queued", "running", "error")
    windows = [replace(PLAIN, status=status) for status in statuses]
    assert picture(*windows)[0].rows == row(
        Span("Sub-agents: ", "bold toolTitle"),
        Span("1 running", "warning"), Span(", ", "dim"),
        Span("1 queued", "muted"), Span(", ", "dim"),
        Span("1 done", "success"), Span(", ", "dim"),
        Span("2 errors", "error"),
    )  # fmt: skip


def test_the_footer_says_what_goes_on_and_at_last_the_session_ids() -> None:
    known = replace(PLAIN, status="completed", title=WindowTitle("one", session_id="5e"))
    unknown = replace(PLAIN, status="error")
    open_ones = [replace(PLAIN, status="running"), PLAIN, PLAIN]
    assert picture(known, *open_ones)[-1].rows == (
        BLANK, (Span("1 running, 2 queued...", "muted"),),
    )  # fmt: skip
    assert picture(known, unknown)[-1].rows == (
        BLANK,
        (Span("Session IDs (use with get_subagent_output):", "dim"),),
        (Span("    one: "), Span("5e", "accent")),
    )
    assert picture(known)[-1].layout == Layout("wrap"), "no name is too long for its id"
    assert picture(unknown)[-1].rows == ()


@thoroughly
@given(st.lists(events, max_size=8), texts, texts)
def test_whatever_a_child_does_the_texts_of_its_picture_are_printable(
    happened: list[ev.Event], name: str, profile: str
) -> None:
    builder = WindowBuilder(WindowTitle(name, profile), cwd="/w", home="/h")
    for event in happened:
        builder.apply(event, 0)
    window = builder.window(0)
    parts = window_picture([window], [[line_row(line) for line in window.history]], 9)
    for part in parts:
        assert all(span.text.isprintable() for spans in part.rows for span in spans)
        json.dumps(part_to_json(part)).encode()
