"""
The details of a finished call as a host keeps them in its own log: bounded, whatever it did.

In: the answer of a tool, and of one that delegates the windows at the end.  Out: the answer with
windows for both views and with shortened outputs.  A window has at most 64 KiB of text, all
together 256 KiB: those that have less leave their share to the others, and of those that have more
the oldest lines go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pi_subagents.core.window_delta import latest, line_bytes
from pi_subagents.core.window_view import window_to_json

if TYPE_CHECKING:
    from pi_subagents.core.window import Window

MAX_WINDOW_BYTES = 64 * 1024
MAX_ALL_BYTES = 256 * 1024
MAX_OUTPUT = 4_000  # characters, of each of sixteen tasks
MAX_LISTED_OUTPUT = 200  # of each of two hundred background runs


def with_windows(
    answer: Mapping[str, object], windows: Sequence[Window], max_lines: int
) -> dict[str, object]:
    """Return the answer of a delegation with what its windows showed."""
    details = answer["details"]
    assert isinstance(details, Mapping)
    bounded: dict[str, object] = {
        **details,
        "status": "done",
        "maxLines": max_lines,
        "windows": bounded_windows(windows),
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


def bounded_windows(windows: Sequence[Window]) -> list[dict[str, object]]:
    """Return every window with the latest lines of its history that have room."""
    shares = _shares([_bytes(window) for window in windows])
    return [
        window_to_json(_cut(window, share), with_history=True)
        for window, share in zip(windows, shares, strict=True)
    ]


def _cut(window: Window, room: int) -> Window:
    """Return the window with less of its history; its latest lines are told twice."""
    history = tuple(latest(window.history, room, twice=len(window.lines)))
    kept = min(len(window.lines), len(history))
    return replace(window, history=history, lines=history[len(history) - kept :])


def _bytes(window: Window) -> int:
    return sum(map(line_bytes, (*window.history, *window.lines)))


def _shares(wanted: Sequence[int]) -> list[int]:
    """Divide the room: who wants least is served first, and leaves the rest to the others."""
    shares = [0] * len(wanted)
    room = MAX_ALL_BYTES
    in_order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, index in enumerate(in_order):
        share = room // (len(wanted) - done)
        shares[index] = min(wanted[index], share, MAX_WINDOW_BYTES)
        room -= shares[index]
    return shares


def with_short_output(result: Mapping[str, object], most: int) -> dict[str, object]:
    """Return one result whose output has at most so many characters; a cut is told."""
    output = str(result["output"])
    if len(output) <= most:
        return dict(result)
    return {**result, "output": output[:most], "outputTruncated": True}
