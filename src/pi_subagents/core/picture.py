"""
What a host is to paint: rows of coloured runs of text, in parts.

In: what the modules beside this one make of windows and ends.  Out: plain JSON that a painter
follows without knowing what it means.  A part has rows that are treated alike; a row is spans; a
span is a text in one role, and roles are colours of pi's themes.  Texts are printable, on one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal[
    "plain", "bold",
    "accent", "dim", "error", "muted", "success", "toolDiffAdded", "toolDiffRemoved", "warning",
]  # fmt: skip
# A row that is too wide is cut, or wrapped, or cut in the short view and wrapped in the long one;
# or the rows say the same with less and less words, and the first that fits is chosen.
Fit = Literal["cut", "wrap", "unfold", "choose"]

SHOWN_LINES = 15  # of a text in the short view, where no setting says otherwise
OVERHEAD = 8  # what JSON puts around a row, and around a text and its role


@dataclass(frozen=True, slots=True)
class Span:
    """A text in one role."""

    text: str
    role: Role = "plain"


Row = tuple[Span, ...]
BLANK: Row = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """
    How the rows of a part are shown.

    The short view has the `latest` so many, or the `first` so many; `more` is what is said of
    those behind the first ones, for one and for several of them.
    """

    fit: Fit = "cut"
    indent: int = 0
    latest: int | None = None
    first: int | None = None
    more: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows and how they are shown."""

    rows: tuple[Row, ...]
    layout: Layout = Layout()


def part_to_json(part: Part) -> dict[str, object]:
    """Return a part as it is painted and kept."""
    return {**layout_to_json(part.layout), "rows": rows_to_json(part.rows)}


def layout_to_json(layout: Layout) -> dict[str, object]:
    """Return how rows are shown; what is not said does not apply."""
    told: dict[str, object] = {"fit": layout.fit, "indent": layout.indent}
    if layout.latest is not None:
        told["latest"] = layout.latest
    if layout.first is not None:
        told["first"] = layout.first
    return told if layout.more is None else {**told, "more": list(layout.more)}


def rows_to_json(rows: Sequence[Row]) -> list[list[object]]:
    """Return rows of spans, each a text or `[text, role]`."""
    return [
        [span.text if span.role == "plain" else [span.text, span.role] for span in row]
        for row in rows
    ]


def row_bytes(row: Row) -> int:
    """Return what a row takes as JSON, roughly."""
    return OVERHEAD + sum(map(_span_bytes, row))


def _span_bytes(span: Span) -> int:
    return len(span.text.encode("utf-8", "replace")) + len(span.role) + OVERHEAD


def latest_rows(rows: Sequence[Row], most_bytes: int) -> Sequence[Row]:
    """Return as many of the last rows as have room."""
    room = most_bytes
    for number, row in enumerate(reversed(rows)):
        room -= row_bytes(row)
        if room < 0:
            return rows[len(rows) - number :]
    return rows
