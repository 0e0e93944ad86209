"""
Measure, cut, wrap and style text by the cells it takes on a terminal.

In: printable text on one line, plain or as runs of one style each.  Out: cells, parts of the text
that fit, or what to send: the ANSI sequences here are the only ones.  Terminals disagree on joined
emoji; those are measured as if their parts stood side by side, so that a line may end early but
never runs over.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Style = Literal[
    "plain", "muted", "added", "removed", "steer", "error", "running", "done", "bold", "name",
    "warning", "stopped", "lost",
]  # fmt: skip
StyledLine = tuple[tuple[str, Style], ...]

ELLIPSIS = "…"
LEAST_BEGIN = 12  # cells: an end that leaves less is too long to be kept
_WIDE = ("W", "F")
_NO_CELL = ("Mn", "Me", "Cf")
_AS_EMOJI = "\ufe0f"  # makes a wide picture of the narrow sign before it
_CODES: Mapping[Style, str] = {
    "muted": "2", "added": "32", "removed": "31", "steer": "36", "error": "31", "running": "36",
    "done": "32", "bold": "1", "name": "1;36", "warning": "33", "stopped": "35", "lost": "94",
}  # fmt: skip


def cells(text: str) -> int:
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def cut(text: str, width: int) -> str:
    """Return the text, or as much of its beginning as fits with an ellipsis."""
    if cells(text) <= width:
        return text
    return beginning(text, width - 1) + ELLIPSIS if width > 0 else ""


@lru_cache(maxsize=8192)
def wrapped(text: str, width: int) -> tuple[str, ...]:
    """Cut a text into lines that fit, at blanks where there are any in their second half."""
    lines = []
    while (line := beginning(text, width) or text[:1]) != text:
        blank = line.rfind(" ")
        if blank > len(line) // 2 and text[len(line)] != " ":
            line = line[:blank]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return (*lines, text)


def beginning(text: str, width: int) -> str:
    """Return the longest beginning that takes at most that many cells."""
    if text.isascii():
        return text[:width]
    taken = 0
    for place, character in enumerate(text):
        taken += _cells_of(character)
        if taken > width:
            return text[:place]
    return text


@lru_cache(maxsize=4096)
def _cells_of(character: str) -> int:
    if character.isascii() or character == _AS_EMOJI:
        return 1
    if unicodedata.category(character) in _NO_CELL:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def fitted(line: StyledLine, width: int, end: StyledLine = ()) -> StyledLine:
    """Return the line and its end; where both do not fit, the line is cut and its end is kept."""
    if _line_cells(line) + _line_cells(end) <= width:
        return line + end
    room = width - _line_cells(end)
    return (
        _cut_line(line, room) + end if end and room >= LEAST_BEGIN else _cut_line(line + end, width)
    )


def _line_cells(line: StyledLine) -> int:
    return sum(cells(text) for text, _ in line)


def _cut_line(line: StyledLine, width: int) -> StyledLine:
    kept: list[tuple[str, Style]] = []
    for text, style in line:
        room = width - sum(cells(part) for part, _ in kept)
        if cells(text) >= room:  # something is lost from here on, so the ellipsis stands here
            kept.append((cut(text + " ", room), style))
            break
        kept.append((text, style))
    return tuple(kept)


def as_text(line: StyledLine, *, coloured: bool) -> str:
    """Return what to send for a line."""
    return "".join(
        f"\x1b[{_CODES[style]}m{text}\x1b[0m" if coloured and style in _CODES else text
        for text, style in line
    )


def changes(before: Sequence[StyledLine], after: Sequence[StyledLine], *, coloured: bool) -> str:
    """Return what turns a screen that shows `before` into one that shows `after`."""
    rows = enumerate(zip_longest(before, after, fillvalue=()), 1)
    # A row is cleared first: in its last column, clearing what follows would take a letter along.
    return "".join(
        f"\x1b[{row};1H\x1b[2K{as_text(new, coloured=coloured)}"
        for row, (old, new) in rows
        if new != old
    )
