"""
What is new in the picture of a call's windows since it was last told.

In: the windows, again and again.  Out: plain JSON for each part that changed: how many of its last
rows to take away, and the rows to put there.  What a painter keeps is bounded, and so is each
delta: of many new lines the oldest are left out.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from pi_subagents.view.picture import latest_rows, layout_to_json, rows_to_json
from pi_subagents.view.window import Window
from pi_subagents.view.window_picture import line_row, place_of_lines, window_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.view.picture import Part
    from pi_subagents.view.window import WindowLine

MAX_DELTA_BYTES = 64 * 1024


class WindowDeltas:
    """Remember what was told of the windows of one call, of which there are always as many."""

    def __init__(self, max_lines: int) -> None:
        self._max_lines = max_lines
        self._windows: Sequence[Window] = ()
        self._parts: Sequence[Part] = ()

    def since(self, windows: Sequence[Window]) -> list[dict[str, object]]:
        """Return what is to be told now; nothing where nothing changed."""
        # Rows are made of new lines only: to make all of them each time would cost too much.
        parts = window_picture(windows, [()] * len(windows), self._max_lines)
        deltas = [
            {"at": at, **_replaced(before, part)}
            for at, (before, part) in enumerate(zip_longest(self._parts, parts))
        ]
        for index, (before, window) in enumerate(zip_longest(self._windows, windows)):
            deltas[place_of_lines(index)] |= _grown(before or Window(window.title), window)
        self._windows, self._parts = windows, parts
        return [delta for delta in deltas if len(delta) > 1]


def _replaced(before: Part | None, part: Part) -> dict[str, object]:
    """Return all rows of a part, and at first how they are shown."""
    if before is None:
        return {**layout_to_json(part.layout), "add": rows_to_json(part.rows)}
    if before.rows == part.rows:
        return {}
    return {"drop": len(before.rows), "add": rows_to_json(part.rows)}


def _grown(before: Window, now: Window) -> dict[str, object]:
    """Return the rows of lines that were not told yet, or were written anew."""
    if (before.line_count, before.history) == (now.line_count, now.history):
        return {}
    rewritten, new = _new_lines(before, now)
    rows = latest_rows([line_row(line) for line in new], MAX_DELTA_BYTES)
    told: dict[str, object] = {"add": rows_to_json(rows)}
    return {"drop": rewritten, **told} if rewritten else told


def _new_lines(before: Window, now: Window) -> tuple[int, Sequence[WindowLine]]:
    """Return how many of the last lines were written anew, and the lines from there on."""
    first_told = before.line_count - len(before.history)
    first = now.line_count - len(now.history)
    same = max(first, first_told)
    while same < before.line_count:
        if before.history[same - first_told] != now.history[same - first]:
            break
        same += 1
    return max(before.line_count - same, 0), now.history[max(same - first, 0) :]
