"""
Draw the bars of a timeline with characters, for a terminal of any width.

In: a bar, the time it is drawn for, cells.  Out: pieces of one kind each, so that a face can colour
them; every kind has a character of its own, for eyes and terminals without colours.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.view.timeline import Bar, Segment, Timeline

PieceKind = Literal["outside", "work", "tool", "failed", "wait", "limit"]
Marks = dict[PieceKind, str]
MARKS: Marks = {
    "outside": " ", "work": "─", "tool": "█", "failed": "✗", "wait": "░", "limit": "▒",
}  # fmt: skip
ASCII_MARKS: Marks = {
    "outside": " ", "work": "-", "tool": "#", "failed": "x", "wait": ".", "limit": "~",
}  # fmt: skip
WORDS: Mapping[PieceKind, str] = {
    "work": "model", "tool": "tool", "failed": "tool failed", "wait": "waits", "limit": "limit",
}  # fmt: skip
# Where several share a cell, the last of these is shown.
_ORDER: tuple[PieceKind, ...] = ("wait", "limit", "tool", "failed")


def piece_kind(segment: Segment) -> PieceKind:
    """Return as what a segment is drawn."""
    if segment.kind == "tool":
        return "failed" if segment.failed else "tool"
    return "limit" if segment.kind in ("limit", "retry") else "wait"


def draw(bar: Bar, timeline: Timeline, width: int, marks: Marks) -> list[tuple[str, PieceKind]]:
    """Return a bar as pieces that together have that many cells, one at least."""
    width = max(width, 1)
    cells: list[PieceKind] = ["outside"] * width
    span = max(timeline.end_ms - timeline.begin_ms, 1)

    def fill(begin_ms: int, end_ms: int, kind: PieceKind) -> None:
        first = min((begin_ms - timeline.begin_ms) * width // span, width - 1)
        behind = -((timeline.begin_ms - end_ms) * width // span)  # rounded up
        for place in range(first, min(max(behind, first + 1), width)):
            cells[place] = kind

    fill(bar.begin_ms, bar.end_ms, "work")
    for segment in sorted(bar.segments, key=lambda each: _ORDER.index(piece_kind(each))):
        fill(segment.begin_ms, segment.end_ms, piece_kind(segment))
    return [(marks[kind] * len(list(group)), kind) for kind, group in groupby(cells)]


def legend(marks: Marks) -> str:
    """Return what the characters mean."""
    return "   ".join(f"{marks[kind]} {word}" for kind, word in WORDS.items())
