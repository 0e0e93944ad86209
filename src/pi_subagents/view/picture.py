"""
What a host is to paint: rows of coloured runs of text, in parts.

In: what the modules beside this one make of windows and ends.  Out: plain JSON that a painter
follows without knowing what it means.  A part has rows that are treated alike; a row is spans; a
span is a text in one role, and roles are colours of pi's themes.  Texts are printable, on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal[
    "plain", "bold", "bold accent", "bold toolTitle",
    "accent", "dim", "error", "muted", "success", "toolDiffAdded", "toolDiffRemoved", "warning",
]  # fmt: skip
# A row that is too wide is cut, or wrapped, or cut in the short view and wrapped in the long one;
# or the rows say the same with less and less words, and the first that fits is chosen.
Fit = Literal["cut", "wrap", "unfold", "choose"]

SHOWN_LINES = 15  # of a text in the short view, where no setting says otherwise
KEPT = "kept"  # beside the role of a span, for a painter that cuts a row
OVERHEAD = 8  # what JSON puts around a row, and around a text and its role


@value
class Span:
    """A text in one role; `kept` at the end of a row, even where the row is cut."""

    text: str
    role: Role = "plain"
    kept: bool = False


Row = tuple[Span, ...]
BLANK: Row = ()


@value
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


@value
class Part:
    """Some rows and how they are shown."""

    rows: tuple[Row, ...]
    layout: Layout = Layout()


def part_to_json(part: Part) -> dict[str, object]:
    """Return a part as it is painted and kept."""
    return {**layout_to_json(part.layout), "rows": rows_to_json(part.rows)}


def layout_to_json(layout: Layout) -> dict[str, object]:
    """Return how rows are shown; what is left out does not apply."""
    more = layout.more and list(layout.more)
    optional = {"latest": layout.latest, "first": layout.first, "more": more}
    given = {key: value for key, value in optional.items() if value is not None}
    return {"fit": layout.fit, "indent": layout.indent, **given}


def rows_to_json(rows: Sequence[Row]) -> list[list[object]]:
    """Return rows of spans, each a text or `[text, roles]`."""
    return [[_span_to_json(span) for span in row] for row in rows]


def _span_to_json(span: Span) -> object:
    if span.kept:
        return [span.text, f"{span.role} {KEPT}"]
    return span.text if span.role == "plain" else [span.text, span.role]


def picture_text(parts: Sequence[Part]) -> str:
    """Return the short view as plain text, as wide as it is."""
    lines: list[str] = []
    for part in parts:
        layout = part.layout
        rows = part.rows[:1] if layout.fit == "choose" else part.rows[-(layout.latest or 0) :]
        begin = " " * layout.indent
        lines += [(begin + "".join(span.text for span in row)).rstrip() for row in rows]
    return "\n".join(lines)


def row_bytes(row: Row) -> int:
    """Return what a row takes as JSON, roughly."""
    return OVERHEAD + sum(map(_span_bytes, row))


def _span_bytes(span: Span) -> int:
    role = len(span.role) + (len(KEPT) + 1) * span.kept
    return len(span.text.encode("utf-8", "replace")) + role + OVERHEAD


def fair_shares(wanted: Sequence[int], room: int) -> list[int]:
    """Divide the room: the least wanted is served first, and leaves the rest to the others."""
    shares = [0] * len(wanted)
    in_order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, index in enumerate(in_order):
        shares[index] = min(wanted[index], room // (len(wanted) - done))
        room -= shares[index]
    return shares


def latest_rows(rows: Sequence[Row], most_bytes: int) -> Sequence[Row]:
    """Return as many of the last rows as have room."""
    room = most_bytes
    for number, row in enumerate(reversed(rows)):
        room -= row_bytes(row)
        if room < 0:
            return rows[len(rows) - number :]
    return rows
