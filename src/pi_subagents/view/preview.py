"""
A line to show, in spans of one role each, from the moment it is written.

In: pieces of text by whoever knows what they mean.  Out: spans; the plain text is their join, so
that nobody has to read a line again to colour it, or to cut it where it does not fit.
"""

from __future__ import annotations

from typing import Literal

from pi_subagents.core.value import replace, value

LineRole = Literal["plain", "muted", "added", "removed", "steer"]


@value
class LineSpan:
    """A text in one role; `kept` at the end of a line, even where the line is cut."""

    text: str
    role: LineRole = "muted"
    kept: bool = False


SpanLine = tuple[LineSpan, ...]
Preview = tuple[SpanLine, ...]


def span_line(*pieces: str | LineSpan) -> SpanLine:
    """Return the pieces as one line: a bare text is muted, neighbours that are alike are one."""
    spans: list[LineSpan] = []
    for piece in pieces:
        span = LineSpan(piece) if isinstance(piece, str) else piece
        if spans and (spans[-1].role, spans[-1].kept) == (span.role, span.kept):
            spans[-1] = replace(span, text=spans[-1].text + span.text)
        elif span.text:
            spans.append(span)
    return tuple(spans)


def path_line(before: str, path: str, *behind: str | LineSpan) -> SpanLine:
    """Return a line that, cut, keeps the last name of its path and what stands behind it."""
    place = path.rfind("/", 0, len(path) - 1)  # a slash at the very end belongs to the name
    if place < 0:
        return span_line(before, path, *behind)
    return continued(span_line(before, path[:place], LineSpan(path[place:], kept=True)), *behind)


def continued(line: SpanLine, *behind: str | LineSpan) -> SpanLine:
    """Return the line with more behind it, which is kept where the end of the line is."""
    more = (LineSpan(piece) if isinstance(piece, str) else piece for piece in behind)
    kept = line[-1].kept
    return span_line(*line, *(replace(span, kept=kept) for span in more))


def shortened_line(line: SpanLine, width: int) -> SpanLine:
    """Return the line, or its beginning and an ellipsis if it is longer than `width`."""
    if len(line_text(line)) <= width:
        return line
    spans: list[LineSpan] = []
    room = width - 1
    for span in line:
        if len(span.text) > room:
            return (*spans, replace(span, text=span.text[: max(room, 0)] + "…"))
        spans.append(span)
        room -= len(span.text)
    return line


def line_text(line: SpanLine) -> str:
    """Return the plain text of a line."""
    return "".join(span.text for span in line)
