"""Print a table for people: columns as wide as their content, rows coloured by status."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.faces.cli.console import Console

GAP = "  "
STATUS = "STATUS"


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Mapping[str, str],
) -> None:
    """Print rows below headings, one of which is STATUS."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    console.answer(_line(headings, widths), bold=True)
    status = headings.index(STATUS)
    for row in rows:
        colour = colours.get(row[status])
        console.answer(_line(row, widths), **({"fg": colour} if colour else {}))


def room_for_last(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many characters a column after these may have, so that lines fit the width."""
    return width - sum(
        max(map(len, column)) + len(GAP) for column in zip(headings, *rows, strict=True)
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
