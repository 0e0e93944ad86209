"""
The details of a finished call as a host keeps them in its own log: bounded, whatever it did.

In: the answer of a tool, and of one that delegates the windows at the end.  Out: the answer with
a picture of its windows and with shortened outputs.  The lines of a window have at most 64 KiB, all
together 256 KiB: those that have less leave their share to the others, and of those that have more
the oldest lines go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pi_subagents.view.picture import fair_shares, latest_rows, part_to_json, row_bytes
from pi_subagents.view.window_picture import line_row, window_picture
from pi_subagents.view.window_view import state_to_json

if TYPE_CHECKING:
    from pi_subagents.view.window import Window

MAX_WINDOW_BYTES = 64 * 1024
MAX_ALL_BYTES = 256 * 1024
MAX_OUTPUT = 4_000  # characters, of each of sixteen tasks
MAX_LISTED_OUTPUT = 200  # of each of two hundred background runs


def with_windows(
    answer: Mapping[str, object], windows: Sequence[Window], max_lines: int
) -> dict[str, object]:
    """Return the answer of a delegation with how its windows stand, and what they show."""
    details = answer["details"]
    assert isinstance(details, Mapping)
    bounded: dict[str, object] = {
        **details,
        "status": "done",
        "maxLines": max_lines,
        "windows": [state_to_json(window) for window in windows],
        "picture": bounded_picture(windows, max_lines),
        "results": [with_short_output(result, MAX_OUTPUT) for result in details["results"]],
    }
    return {**answer, "details": bounded}


def with_short_rows(answer: Mapping[str, object]) -> dict[str, object]:
    """Return the answer of a background tool; its text says what one run answered."""
    details = answer["details"]
    assert isinstance(details, Mapping)
    rows = details["runs"]
    most = MAX_OUTPUT if len(rows) == 1 else MAX_LISTED_OUTPUT
    return {
        **answer,
        "details": {**details, "runs": [with_short_output(row, most) for row in rows]},
    }


def bounded_picture(windows: Sequence[Window], max_lines: int) -> list[dict[str, object]]:
    """Return every window with the latest lines of its history that have room."""
    lines = [[line_row(line) for line in window.history] for window in windows]
    wanted = [min(sum(map(row_bytes, rows)), MAX_WINDOW_BYTES) for rows in lines]
    shares = fair_shares(wanted, MAX_ALL_BYTES)
    kept = [latest_rows(rows, share) for rows, share in zip(lines, shares, strict=True)]
    return [part_to_json(part) for part in window_picture(windows, kept, max_lines)]


def with_short_output(result: Mapping[str, object], most: int) -> dict[str, object]:
    """Return one result whose output has at most so many characters; a cut is told."""
    output = str(result["output"])
    if len(output) <= most:
        return dict(result)
    return {**result, "output": output[:most], "outputTruncated": True}
