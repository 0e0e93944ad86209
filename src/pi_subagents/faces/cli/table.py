"""
Print a table for people: columns as wide as their content, rows coloured by status; times in words.

On a terminal the last column is cut so that lines fit; elsewhere somebody may want to search it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.console import width
from pi_subagents.faces.terminal.cells import cells, cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.faces.cli.console import Console

GAP = "  "
STATUS = "STATUS"
LEAST = 8  # cells of the last column, however narrow the terminal


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Mapping[str, str],
) -> None:
    """Print rows below headings, one of which is STATUS."""
    if sys.stdout.isatty():
        others = [row[:-1] for row in rows]
        room = max(room_for_last(headings[:-1], others, width(sys.stdout)), LEAST)
        rows = [(*row[:-1], cut(row[-1], room)) for row in rows]
    widths = _widths(headings, rows)
    console.answer(_line(headings, widths), bold=True)
    status = headings.index(STATUS)
    for row in rows:
        colour = colours.get(row[status])
        console.answer(_line(row, widths), **({"fg": colour} if colour else {}))


def room_for_last(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many cells a column after these may have, so that lines fit the width."""
    return width - sum(size + len(GAP) for size in _widths(headings, rows))


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(headings, *rows, strict=True)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (size - cells(cell)) for cell, size in zip(row, widths, strict=True))
    return GAP.join(padded).rstrip()


def duration(milliseconds: float) -> str:
    """Return a length of time as people say it."""
    seconds = max(milliseconds, 0) / 1000
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.1f}s"
