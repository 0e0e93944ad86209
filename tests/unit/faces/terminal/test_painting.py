"""Whole screens, as a terminal would show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.virtual_terminal import VirtualTerminal
from tests.fakes.window_lines import (
    added,
    failed_call,
    following_line,
    kept,
    path_call,
    removed,
    steer_line,
    tool_line,
)
from tests.unit.core.given_values import events, thoroughly

from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.faces.cli import messages
from pi_subagents.faces.terminal.cells import as_text, changes
from pi_subagents.faces.terminal.painting import View, paint, paint_ended
from pi_subagents.view.todos import TodoCount
from pi_subagents.view.window import Window, WindowBuilder, WindowLine, WindowTitle

if TYPE_CHECKING:
    from pi_subagents.core.run import events as ev

COLLAPSED = View()


def said(*texts: str) -> tuple[WindowLine, ...]:
    return tuple(WindowLine.said(text) for text in texts)


def window(name: str, lines: tuple[WindowLine, ...] = (), **more: object) -> Window:
    status = more.pop("status", "running")
    return replace(Window(WindowTitle(name), lines=lines, history=lines), status=status, **more)


PROFILED = WindowTitle(
    "review",
    profile="code-reviewer",
    provider="acme",
    model="large",
    thinking_level="high",
    tool_count=3,
    file_count=2,
    session_id="cac9f93297944b67",
)
BUSY = Window(
    PROFILED,
    "running",
    todo=TodoCount(1, 3),
    elapsed_ms=61_999,
    usage=Usage(total_tokens=12_345, cost=0.0421),
    lines=(
        *said("I look around."),
        path_call("edit", "src/a.py", " (1 edit) ", added("+4"), "/", removed("-2")),
        tool_line("bash → cd src"),
        following_line("│ make all"),
        tool_line("read → b ", added("(7 lines)")),
    ),
)
FAILED = window("broken", said("Hm."), status="error", error_message="Timed out after 5s.")
WAITING = [window(f"wait-{number}", status="queued") for number in (1, 2)]
NUMBERS = said(*(f"line {number}" for number in range(1, 31)))


def screen(
    windows: list[Window],
    columns: int,
    rows: int,
    view: View = COLLAPSED,
    *,
    coloured: bool = False,
) -> list[str]:
    terminal = VirtualTerminal(columns, rows)
    terminal.feed("\x1b[?1049h\x1b[2J\x1b[?7l")
    terminal.feed(changes((), paint(windows, columns, rows, view).lines, coloured=coloured))
    assert len(terminal.screen.rows) == rows
    return terminal.screen.marked() if coloured else terminal.screen.text()


def test_windows_on_a_usual_terminal() -> None:
    assert screen([BUSY, FAILED, *WAITING], 110, 18) == [
        "Sub-agents: 1 running, 2 waiting, 1 failed",
        "● review • code-reviewer (acme/large high) • 3 tools • 2 files • [1/3] • 1m • 12.3k tokens $0.0421",
        "  I look around.",
        "  edit → src/a.py (1 edit) +4/-2",
        "  bash → cd src",
        "    │ make all",
        "  read → b (7 lines)",
        "",
        "✗ broken • 0s",
        "  Hm.",
        "  Error: Timed out after 5s.",
        "",
        "○ wait-1 • waiting, place 1",
        "",
        "○ wait-2 • waiting, place 2",
        "",
        "",
        "Ctrl+O full history • Ctrl+C stop",
    ]


def test_names_and_counts_are_coloured_tools_muted_figures_and_errors_coloured() -> None:
    assert screen([BUSY, FAILED], 110, 13, coloured=True) == [
        "{1}Sub-agents: {36}1 running{2}, {31}1 failed{0}",
        "{36}● {1;36}review{2} • code-reviewer (acme/large high) • 3 tools • 2 files • [1/3] • 1m • 12.3k tokens $0.0421{0}",
        "  I look around.",
        "  {2}edit → src/a.py (1 edit) {32}+4{2}/{31}-2{0}",
        "  {2}bash → cd src{0}",
        "  {2}  │ make all{0}",
        "  {2}read → b {32}(7 lines){0}",
        "",
        "{31}✗ {1;36}broken{2} • 0s{0}",
        "  Hm.",
        "  {31}Error: Timed out after 5s.{0}",
        "",
        "{2}Ctrl+O full history • Ctrl+C stop{0}",
    ]


@pytest.mark.parametrize(
    ("columns", "header"),
    [
        (98, "● review • code-reviewer (acme/large high) • 3 tools • 2 files • [1/3] • 1m • 12.3k tokens $0.0421"),
        (97, "● review • code-reviewer (acme/large high) • 3 tools • 2 files • [1/3] • 1m"),
        (73, "● review • code-reviewer (acme/large high) • 3 tools • [1/3] • 1m"),
        (63, "● review • code-reviewer (acme/large high) • [1/3] • 1m"),
        (33, "● review • [1/3] • 1m"),
        (18, "● re… • [1/3] • 1m"),
        (17, "● r… • [1/3] • 1m"),
    ],
)  # fmt: skip
def test_a_header_that_does_not_fit_loses_what_matters_least(columns: int, header: str) -> None:
    assert screen([BUSY], columns, 10)[1] == header


def test_sixteen_windows_on_24_lines_of_40_columns() -> None:
    running = [window(f"sub-{number:02}", NUMBERS[-15:], elapsed_ms=3000) for number in range(1, 5)]
    queued = [window(f"sub-{number:02}", status="queued") for number in range(5, 17)]
    assert screen([*running, *queued], 40, 24) == [
        "Sub-agents: 4 running, 12 waiting",
        "● sub-01 • 3s",
        "  line 29",
        "  line 30",
        "● sub-02 • 3s",
        "  line 29",
        "  line 30",
        "● sub-03 • 3s",
        "  line 30",
        "● sub-04 • 3s",
        "  line 30",
        *(
            f"○ sub-{number:02} • waiting, place {number - 4}"
            for number in range(5, 17)
        ),
        "Ctrl+O full history • Ctrl+C stop",
    ]  # fmt: skip


def test_where_not_all_headers_fit_it_is_said_how_many_are_missing() -> None:
    windows = [
        window("done", said("x"), status="completed"),
        *WAITING,
        window("at work", said("y")),
    ]
    assert screen(windows, 60, 5) == [
        "Sub-agents: 1 running, 2 waiting, 1 completed",
        "✓ done • 0s",
        "● at work • 0s",
        "... and 2 more (Ctrl+O shows all)",
        "Ctrl+O full history • Ctrl+C stop",
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_on_very_few_rows_the_status_comes_first(rows: int) -> None:
    expected = ["Sub-agents: 1 running", "Ctrl+O full history • Ctrl+C stop"]
    assert screen([BUSY], 60, rows) == expected[:rows]


def test_wide_characters_are_cut_where_they_would_not_fit() -> None:
    talk = window("日本語の名前", said("日本語のテキストと絵文字🎉です", "ascii"))
    assert screen([talk], 28, 5) == [
        "Sub-agents: 1 running",
        "● 日本語の名前 • 0s",
        "  日本語のテキストと絵文字…",
        "  ascii",
        "Ctrl+O full history • Ctrl+…",
    ]


def test_a_window_without_lines_is_starting_or_has_no_output() -> None:
    assert screen([window("new")], 40, 5)[2] == "  (starting...)"
    assert screen([window("new")], 40, 5, View(expanded=True))[2] == "  (no output)"
    assert screen([window("old", status="error")], 40, 5)[2] == "  (no output)"


def test_a_notice_stands_in_place_of_the_keys() -> None:
    assert screen([BUSY], 80, 8, View(notice=messages.DISPLAY_STOPPING))[-1] == (
        "Stopping every sub-agent. Press Ctrl+C again to force it."
    )


TALKATIVE = [
    replace(window("first", NUMBERS[:3]), lines=NUMBERS[2:3]),
    replace(window("second", said("a long line of words", "end")), error_message="it broke"),
    window("third", status="queued"),
]


ALL_OF_IT = [
    "● first • 0s",
    "  line 1",
    "  line 2",
    "  line 3",
    "",
    "● second • 0s",
    "  a long line of words",
    "  end",
    "  Error: it broke",
    "",
    "○ third • waiting, place 1",
]


def test_expanded_the_whole_history_is_shown() -> None:
    assert screen(TALKATIVE, 80, 14, View(expanded=True)) == [
        "Sub-agents: 2 running, 1 waiting",
        *ALL_OF_IT,
        "",
        "Ctrl+O back • ↑↓ PgUp PgDn • Ctrl+C stop",
    ]


@pytest.mark.parametrize(("wanted", "scroll"), [(0, 0), (1, 1), (3, 3), (7, 7), (8, 7), (10**9, 7)])
def test_scrolled_back_an_earlier_part_is_in_view_but_never_nothing(
    wanted: int, scroll: int
) -> None:
    view = View(expanded=True, scroll=wanted)
    assert paint(TALKATIVE, 80, 6, view).scroll == scroll
    shown = screen(TALKATIVE, 80, 6, view)
    assert shown[1:-1] == ALL_OF_IT[7 - scroll : 11 - scroll]
    assert shown[-1] == (
        "End: follow • Ctrl+O back • ↑↓ PgUp PgDn"
        if scroll
        else "Ctrl+O back • ↑↓ PgUp PgDn • Ctrl+C stop"
    )


def test_expanded_long_words_are_wrapped_and_previews_cut() -> None:
    lines = (*said("a long line of words"), tool_line("bash → make everything"))
    failed = window("t", lines, status="error", error_message="it went wrong")
    assert screen([failed], 16, 9, View(expanded=True)) == [
        "Sub-agents: 1 f…",
        "✗ t • 0s",
        "  a long line of",
        "  words",
        "  bash → make e…",
        "  Error: it went",
        "  wrong",
        "",
        "Ctrl+O back • ↑…",
    ]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (32, "  edit → src/deep/a.py (1 edit) "),
        (28, "  edit → src…/a.py (1 edit) "),
    ],
)
def test_a_preview_that_is_cut_keeps_the_name_of_its_file(columns: int, shown: str) -> None:
    line = (path_call("edit", "src/deep/a.py", " (1 edit) ", added("+4"), "/", removed("-2")),)
    figures = "+4/-2"
    wide = columns + len(figures)
    for view in (View(), View(expanded=True)):
        assert screen([window("t", line)], wide, 4, view)[2] == shown + figures


def test_a_command_that_is_cut_keeps_its_and_and_has_one_ellipsis() -> None:
    line = tool_line("bash → echo one two…", kept(" &&")), following_line("│ echo three")
    assert screen([window("t", line)], 24, 5)[2:4] == [
        "  bash → echo one tw… &&",
        "    │ echo three",
    ]


def test_a_name_that_is_too_long_for_the_screen_is_cut_itself() -> None:
    line = (path_call("read", "a/" + "n" * 40),)
    assert screen([window("t", line)], 30, 4)[2] == "  read → a/" + "n" * 18 + "…"


def test_a_message_to_a_child_is_coloured_and_wrapped_like_words() -> None:
    steered = window("t", (steer_line("steered: use the other file"),))
    assert screen([steered], 40, 4, coloured=True)[2] == "  {2}→ {36}steered: use the other file{0}"
    assert screen([steered], 20, 6, View(expanded=True))[2:4] == [
        "  → steered: use the",
        "  other file",
    ]


def test_at_the_end_a_line_of_each_stays_with_why_it_failed_and_the_next_command() -> None:
    done = replace(BUSY, status="completed", lines=NUMBERS[-15:])
    broken = replace(
        FAILED,
        title=WindowTitle("broken", session_id="1e361c0624cd4107"),
        error_message="Sub-agent exited with code 1 without an answer",
    )
    lines = paint_ended([done, broken], 40)
    assert [as_text(line, coloured=False) for line in lines] == [
        "✓ review · 12.3k tokens $0.0421 · 1m1s",
        "✗ broken · failed · 0s",
        "  Sub-agent exited with code 1 without",
        "  an answer",
        "  Look for the cause: subagents doctor.",
        'To continue broken: subagents resume 1e361c06 "..."',
    ]


def test_where_all_went_well_the_first_session_is_the_one_to_go_on_with() -> None:
    lines = paint_ended([replace(BUSY, status="completed")], 80)
    assert as_text(lines[-1], coloured=False) == ('To continue: subagents resume cac9f932 "..."')


def built(happened: list[ev.Event]) -> Window:
    builder = WindowBuilder(WindowTitle("t"), cwd="/", home="/")
    for event in happened:
        builder.apply(event, 0)
    return builder.window(0)


@thoroughly
@given(
    st.lists(st.lists(events, max_size=4).map(built), min_size=1, max_size=4),
    st.integers(10, 60),
    st.integers(1, 20),
    st.booleans(),
    st.integers(0, 10),
)
def test_whatever_children_say_a_screen_is_as_large_as_it_is_and_only_we_drive_it(
    windows: list[Window], columns: int, rows: int, expanded: bool, scroll: int
) -> None:
    view = View(expanded=expanded, scroll=scroll)
    screen(windows, columns, rows, view, coloured=True)  # the terminal refuses what is not ours
    terminal = VirtualTerminal(columns, rows)
    for line in paint_ended(windows, columns):
        terminal.feed(as_text(line, coloured=True) + "\r\n")


def test_a_status_of_many_kinds_is_one_line() -> None:
    assert screen([BUSY, FAILED, *WAITING], 20, 6)[0] == "Sub-agents: 1 runni…"


def test_every_end_has_a_sign_and_a_word_of_its_own_and_is_counted_apart() -> None:
    ends = [
        window("done", status="completed"),
        window("silent", status="completed", no_answer=True, notes=("It said nothing.",)),
        window("stopped", status="stopped", error_message="Stopped on request"),
        window("lost", status="interrupted", error_message="Its supervisor died"),
        window("broken", status="error", error_message="It broke"),
    ]
    assert screen(ends, 80, 20, coloured=True)[0] == (
        "{1}Sub-agents: {32}2 completed{2}, {31}1 failed{2}, {35}1 stopped{2}, {94}1 interrupted{0}"
    )
    assert [as_text(line, coloured=False) for line in paint_ended(ends, 80)] == [
        "✓ done · 0s",
        "⚠ silent · 0s",
        "  It said nothing.",
        "■ stopped · stopped · 0s",
        "! lost · interrupted · 0s",
        "  Its supervisor died",
        "✗ broken · failed · 0s",
        "  It broke",
    ]


def test_a_time_out_is_shown_only_when_it_is_near_or_over() -> None:
    title = WindowTitle("t", timeout_s=100)
    shown = [
        screen([window("t", title=title, elapsed_ms=1000 * seconds)], 40, 4)[1]
        for seconds in (79, 80, 130)
    ]
    assert shown == ["● t • 1m", "● t • 1m20s of 1m40s", "● t • 2m10s of 1m40s, extended"]


def test_a_task_without_a_name_is_known_by_how_its_prompt_begins() -> None:
    title = WindowTitle(
        "task-1", prompt="Look at the\nparser, and then at everything else there is" * 9
    )
    shown = screen([window("t", title=title)], 90, 4)[1]
    assert shown == "● Look at the parser, and then at everything else there isLoo… • 0s"


def test_a_call_that_failed_has_its_sign_and_why_in_red() -> None:
    line = failed_call("edit → src/a.py", "Could not find the text")
    assert screen([window("t", (line,))], 80, 4, coloured=True)[2] == (
        "  {31}✗ {2}edit → src/a.py{31}: Could not find the text{0}"
    )
