"""
The list as it is now, once: for scripts, and where there is no terminal to paint on.

In: rows.  Out: a table or one JSON object on standard output.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from pi_subagents.faces.cli.console import width
from pi_subagents.faces.terminal.cells import cells, cut
from pi_subagents.faces.watch import messages
from pi_subagents.view.fleet import Wanted, arranged, row_to_json, totals, totals_to_json
from pi_subagents.view.fleet_table import cell_text, layout, totals_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.view.fleet_table import Cell


ID = "RUN      "  # with which every other command finds it


def print_json(console: Console, rows: Sequence[RunRecord], today_ms: int) -> None:
    """Print all of it for a script, in the order of the list."""
    runs = [row_to_json(row) for row, _ in arranged(rows, Wanted())]
    console.json({"totals": totals_to_json(totals(rows, today_ms)), "runs": runs})


def print_list(
    console: Console, rows: Sequence[RunRecord], *, now_ms: int, today_ms: int, machine: bool
) -> None:
    """Print the list for a person."""
    if not rows:
        console.answer(messages.NO_RUNS_ANYWHERE if machine else messages.NO_RUNS)
        return
    room = width(sys.stdout)
    console.answer(totals_line(totals(rows, today_ms), room), bold=True)
    columns = layout(room - len(ID))
    console.answer(ID + _line([cell.heading for cell in columns], columns))
    for row, follows in arranged(rows, Wanted()):
        texts = [cell_text(row, cell, now_ms, follows=follows) for cell in columns]
        console.answer(f"{row.short_id:<{len(ID)}}" + _line(texts, columns))


def _line(texts: Sequence[str], columns: Sequence[Cell]) -> str:
    return " ".join(padded(text, cell) for text, cell in zip(texts, columns, strict=True)).rstrip()


def today_ms() -> int:
    """Return the last midnight of the local time zone."""
    now = time.localtime()
    midnight = (now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1)
    return int(time.mktime(midnight)) * 1000


def padded(text: str, cell: Cell) -> str:
    """Return a text with exactly the width of its column on a terminal."""
    shown = cut(text, cell.width)
    blanks = " " * (cell.width - cells(shown))
    return blanks + shown if cell.right else shown + blanks
