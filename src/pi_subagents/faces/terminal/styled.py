"""
Lines in styles, and what is sent to a terminal for them.

In: lines as runs of one style each.  Out: text with ANSI sequences, or without any.  Every text
was made printable by the core, so the sequences here are the only ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.faces.terminal.cells import cells, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Style = Literal[
    "plain", "muted", "added", "removed", "steer", "error", "running", "done", "bold", "name",
]  # fmt: skip
StyledLine = tuple[tuple[str, Style], ...]

LEAST_BEGIN = 12  # cells: an end that leaves less is too long to be kept

_CODES: Mapping[Style, str] = {
    "muted": "2", "added": "32", "removed": "31", "steer": "36", "error": "31", "running": "33",
    "done": "32", "bold": "1", "name": "1;36",
}  # fmt: skip


def fitted(line: StyledLine, width: int, end: StyledLine = ()) -> StyledLine:
    """Return the line and its end; where both do not fit, the line is cut and its end is kept."""
    if _cells(line) + _cells(end) <= width:
        return line + end
    room = width - _cells(end)
    return _cut(line, room) + end if end and room >= LEAST_BEGIN else _cut(line + end, width)


def _cells(line: StyledLine) -> int:
    return sum(cells(text) for text, _ in line)


def _cut(line: StyledLine, width: int) -> StyledLine:
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
    rows: Iterable[int] = range(max(len(before), len(after)))
    # A row is cleared first: in its last column, clearing what follows would take a letter along.
    return "".join(
        f"\x1b[{row + 1};1H\x1b[2K{as_text(new, coloured=coloured)}"
        for row in rows
        if (new := _row(after, row)) != _row(before, row)
    )


def _row(lines: Sequence[StyledLine], row: int) -> StyledLine:
    return lines[row] if row < len(lines) else ()
