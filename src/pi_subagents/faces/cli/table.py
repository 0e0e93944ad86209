"""
Print a table for people: columns as wide as their content, each state in its word and colour.

On a terminal the last column is cut so that lines fit; elsewhere somebody may want to search it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.console import width
from pi_subagents.faces.terminal.cells import cells, cut
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.view.states import StateRole

GAP = "  "
LEAST = 8  # cells of the last column, however narrow the terminal
COLOURS: Mapping[StateRole, str | None] = {
    "quiet": None, "working": "cyan", "good": "green", "warning": "yellow", "bad": "red",
    "stopped": "magenta", "lost": "bright_blue",
}  # fmt: skip


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Sequence[Mapping[str, object]],
) -> None:
    """Print rows below headings, each in its style."""
    if sys.stdout.isatty():
        others = [row[:-1] for row in rows]
        room = max(room_for_last(headings[:-1], others, width(sys.stdout)), LEAST)
        rows = [(*row[:-1], cut(row[-1], room)) for row in rows]
    widths = _widths(headings, rows)
    console.answer(_line(headings, widths), bold=True)
    for row, style in zip(rows, styles, strict=True):
        console.answer(_line(row, widths), **style)


def status_cell(run: RunRecord) -> str:
    """Return how a run stands: its sign and its word."""
    state = state_of(run)
    return f"{state.sign} {state.word}"


def style_of(run: RunRecord) -> dict[str, object]:
    """Return the style in which a console writes of a run."""
    colour = COLOURS[state_of(run).role]
    return {"fg": colour} if colour else {}


def room_for_last(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many cells a column after these may have, so that lines fit the width."""
    return width - sum(size + len(GAP) for size in _widths(headings, rows))


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (size - cells(cell)) for cell, size in zip(row, widths, strict=True))
    return GAP.join(padded).rstrip()
