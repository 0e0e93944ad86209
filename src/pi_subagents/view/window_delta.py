"""
What a host gets of a call's windows: what is new while they change, bounded details at the end.

In: the windows, again and again.  Out: plain JSON.  A delta has for each part that changed how many
of its last rows to take away, and the rows to put there; of many new lines the oldest are left out.
At the end the lines of a window have at most 64 KiB, all together 256 KiB: those that have less
leave their share to the others, and of those that have more the oldest lines go.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING

from pi_subagents.view.answers import MAX_OUTPUT, with_short_output
from pi_subagents.view.picture import (
    fair_shares,
    latest_rows,
    layout_to_json,
    part_to_json,
    row_bytes,
    rows_to_json,
)
from pi_subagents.view.window import Window
from pi_subagents.view.window_picture import line_row, place_of_lines, window_picture
from pi_subagents.view.window_view import state_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.view.picture import Part
    from pi_subagents.view.window import WindowLine

MAX_WINDOW_BYTES = 64 * 1024
MAX_ALL_BYTES = 256 * 1024
MAX_DELTA_BYTES = 64 * 1024


class WindowDeltas:
    """Remember what was sent of the windows of one call, whose number stays the same."""

    def __init__(self, max_lines: int) -> None:
        self._max_lines = max_lines
        self._windows: Sequence[Window] = ()
        self._parts: Sequence[Part] = ()

    def since(self, windows: Sequence[Window]) -> list[dict[str, object]]:
        """Return what is to be sent now; nothing where nothing changed."""
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
    """Return the rows of lines that were not sent yet, or were written anew."""
    if (before.line_count, before.history) == (now.line_count, now.history):
        return {}
    rewritten, new = _new_lines(before, now)
    rows = latest_rows([line_row(line) for line in new], MAX_DELTA_BYTES)
    added: dict[str, object] = {"add": rows_to_json(rows)}
    return {"drop": rewritten, **added} if rewritten else added


def _new_lines(before: Window, now: Window) -> tuple[int, Sequence[WindowLine]]:
    """Return how many of the last lines were written anew, and the lines from there on."""
    first_sent = before.line_count - len(before.history)
    first = now.line_count - len(now.history)
    same = max(first, first_sent)
    while same < before.line_count:
        if before.history[same - first_sent] != now.history[same - first]:
            break
        same += 1
    return max(before.line_count - same, 0), now.history[max(same - first, 0) :]


def with_windows(
    answer: Mapping[str, object], windows: Sequence[Window], max_lines: int
) -> dict[str, object]:
    """Return the answer of a delegation with how its windows stand, and what they show."""
    details = answer["details"]
    assert isinstance(details, Mapping)
    bounded = {
        "status": "done",
        "maxLines": max_lines,
        "windows": [state_to_json(window) for window in windows],
        "picture": bounded_picture(windows, max_lines),
        "results": [with_short_output(result, MAX_OUTPUT) for result in details["results"]],
    }
    return {**answer, "details": {**details, **bounded}}


def bounded_picture(windows: Sequence[Window], max_lines: int) -> list[dict[str, object]]:
    """Return every window with the latest lines of its history that have room."""
    lines = [[line_row(line) for line in window.history] for window in windows]
    wanted = [min(sum(map(row_bytes, rows)), MAX_WINDOW_BYTES) for rows in lines]
    shares = fair_shares(wanted, MAX_ALL_BYTES)
    kept = [latest_rows(rows, share) for rows, share in zip(lines, shares, strict=True)]
    return [part_to_json(part) for part in window_picture(windows, kept, max_lines)]
