"""
What is new in the windows of a call since they were last told.

In: the windows, again and again.  Out: plain JSON for each one that changed: how it stands, and the
lines of its history that were not told yet.  What a face keeps is bounded, and so is each delta:
of many new lines the oldest are left out, and `total` (how many there ever were) shows the gap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pi_subagents.core.window_view import (
    lines_to_json,
    state_to_json,
    title_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.window import Window, WindowLine

MAX_DELTA_BYTES = 64 * 1024
LINE_OVERHEAD = 32  # what JSON puts around a text


class WindowDeltas:
    """Remember what was told of each window, by its place."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[Window, int | None]] = {}

    def since(self, windows: Sequence[Window]) -> list[dict[str, object]]:
        """Return what is to be told now; nothing where nothing changed."""
        deltas = []
        for index, (window, place) in enumerate(zip(windows, places(windows), strict=True)):
            before = self._told.get(index)
            self._told[index] = (window, place)
            if before is None:
                deltas.append(_delta(index, window, place, None))
            elif before[1] != place or _changed(before[0], window):
                deltas.append(_delta(index, window, place, before[0]))
        return deltas


def places(windows: Iterable[Window]) -> list[int | None]:
    """Return where in the queue each window stands, from 1; None for one that does not wait."""
    found: list[int | None] = []
    waiting = 0
    for window in windows:
        waiting += window.status == "queued"
        found.append(waiting if window.status == "queued" else None)
    return found


def _changed(before: Window, now: Window) -> bool:
    """Tell whether anything is different but the time, which every face counts itself."""
    return before.line_count != now.line_count or replace(before, elapsed_ms=now.elapsed_ms) != now


def _delta(
    index: int, window: Window, place: int | None, before: Window | None
) -> dict[str, object]:
    rewritten, new = _new_lines(before, window)
    told: dict[str, object] = {"index": index}
    if before is None or before.title != window.title:
        told["title"] = title_to_json(window.title)
    told |= state_to_json(window)
    if place is not None:
        told["place"] = place
    if rewritten:
        told["replaceLast"] = rewritten
    return {**told, "append": lines_to_json(latest(new)), "total": window.line_count}


def _new_lines(before: Window | None, now: Window) -> tuple[int, Sequence[WindowLine]]:
    """Return how many of the last lines were written anew, and the lines from there on."""
    if before is None:
        return 0, now.history
    first_told = before.line_count - len(before.history)
    first = now.line_count - len(now.history)
    same = max(first, first_told)
    while same < before.line_count:
        if before.history[same - first_told] != now.history[same - first]:
            break
        same += 1
    return max(before.line_count - same, 0), now.history[max(same - first, 0) :]


def latest(
    lines: Sequence[WindowLine], most_bytes: int = MAX_DELTA_BYTES, twice: int = 0
) -> Sequence[WindowLine]:
    """Return as many of the last lines as have room; the last `twice` of them are told twice."""
    room = most_bytes
    for number, line in enumerate(reversed(lines)):
        room -= line_bytes(line) * (2 if number < twice else 1)
        if room < 0:
            return lines[len(lines) - number :]
    return lines


def line_bytes(line: WindowLine) -> int:
    """Return what a line takes as JSON, roughly."""
    return len(line.text.encode("utf-8", "replace")) + LINE_OVERHEAD
