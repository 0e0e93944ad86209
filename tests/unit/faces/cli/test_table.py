from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.pty_command import open_pty
from tests.fakes.records import record
from tests.unit.core.given_values import briefly

from pi_subagents.core.messages import NO_TEXT_OUTPUT
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.table import print_table, room_for_last, status_cell, style_of
from pi_subagents.faces.terminal.cells import cells

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADINGS = ("RUN", "STATUS", "NAME")
ROWS = [
    ("日本", "completed", "short"),
    ("abc", "failed", "日本語のとても長い名前です"),
    ("d", "-", "🎈" * 9),
]


wide = st.text("a日🎈\u0301\ufe0f", max_size=9) | st.text("日🎈", min_size=30, max_size=50)


def on_a_terminal(columns: int, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return what the table looks like on a terminal of that width."""
    with open_pty(columns) as (master, slave), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("NO_COLOR", "1")
        with io.TextIOWrapper(os.fdopen(os.dup(slave), "wb")) as stream:
            patch.setattr(sys, "stdout", stream)
            print_table(Console(), HEADINGS, rows, [{}] * len(rows))
        os.write(slave, b"\0")
        shown = b""
        while not shown.endswith(b"\0"):
            shown += os.read(master, 65536)
    return shown[:-1].decode().splitlines()


def test_on_a_terminal_the_last_column_is_cut_by_the_cells_it_takes() -> None:
    assert on_a_terminal(32, ROWS) == [
        "RUN   STATUS     NAME",
        "日本  completed  short",
        "abc   failed     日本語のとても…",
        "d     -          🎈🎈🎈🎈🎈🎈🎈…",
    ]


def test_a_narrow_terminal_still_sees_how_a_name_begins() -> None:
    assert on_a_terminal(9, ROWS)[2] == "abc   failed     日本語…"


def test_elsewhere_nothing_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Console(), HEADINGS, [("a", "failed", "日本" * 200)], [{}])
    assert capsys.readouterr().out.splitlines()[1] == "a    failed  " + "日本" * 200


@briefly
@given(st.lists(st.tuples(wide, wide), min_size=1, max_size=3))
def test_every_line_fits_the_terminal_where_the_other_columns_do(
    rows: list[tuple[str, str]],
) -> None:
    whole = [(first, "failed", last) for first, last in rows]
    room = room_for_last(HEADINGS[:-1], [row[:-1] for row in whole], 80)
    assert all(cells(line) <= 80 + max(8 - room, 0) for line in on_a_terminal(80, whole))


def test_each_state_has_one_sign_word_and_colour() -> None:
    statuses = ("planned", "running", "stopping", "completed", "failed", "aborted", "interrupted")
    shown = {
        status: (status_cell(run), style_of(run).get("fg"))
        for status in statuses
        for run in (record(status=status),)
    }
    assert shown == {
        "planned": ("○ waiting", None),
        "running": ("● running", "cyan"),
        "stopping": ("◌ stopping", "magenta"),
        "completed": ("✓ completed", "green"),
        "failed": ("✗ failed", "red"),
        "aborted": ("■ stopped", "magenta"),
        "interrupted": ("! interrupted", "bright_blue"),
    }
    empty = record(status="completed", output=NO_TEXT_OUTPUT)
    assert (status_cell(empty), style_of(empty)) == ("⚠ completed", {"fg": "yellow"})
