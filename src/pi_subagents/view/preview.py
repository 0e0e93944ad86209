"""
A line to show, in spans of one role each, from the moment it is written; and a shell command so.

In: pieces of text by whoever knows what they mean.  Out: spans; the plain text is their join, so
that nobody has to read a line again to colour it, or to cut it where it does not fit.

A command is shown in little room: without a needless `cd`, on one line, or cut at its `&&`, in at
most `MAX_LINES` lines, or none where there is no command.  The first begins with `bash → `, the
others with `│ `; a line that continues keeps its `&&` wherever it is cut.  Of a command of several
lines only the first is shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pi_subagents.core.path_text import shorten_paths_in_text
from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Iterator

LineRole = Literal["plain", "muted", "figure", "added", "removed", "steer", "failed"]
_FIGURES = ("figure", "added", "removed")


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


def failed_line(line: SpanLine, reason: str = "") -> SpanLine:
    """Return the line of a call that failed: without figures of what it did not do, and why."""
    left = (replace(span, kept=False) for span in line if span.role not in _FIGURES)
    return span_line(*left, LineSpan(f": {reason}" if reason else "", "failed"))


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


PREFIX = "bash → "
CONTINUATION = "│ "
MAX_LINES = 5
MIN_WIDTH = 20
# More of a command than this could not be shown anyway; looking at it would only cost time.
MAX_COMMAND = 4000

_AND = " &&"
_WORD = r"\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\\.|[^\s;&|'\"\\])+"
_CD = re.compile(rf"\s*cd[ \t]+({_WORD})[ \t]*(?:&&|;(?!;)|\n)\s*(?=\S)")
_PIECES = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|&&|.", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CHANGES_DIRECTORY = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd)\s")


def format_bash(command: str, cwd: str, home: str, width: int) -> Preview:
    """Return the preview."""
    width = max(width, MIN_WIDTH)
    text = collapse_cd(printable(command[:MAX_COMMAND]).strip(), cwd)
    line = one_line(text.partition("\n")[0], MAX_COMMAND)
    # After a `cd` a path from the old directory would name something else.
    line = shorten_paths_in_text(line, "" if _CHANGES_DIRECTORY.search(line) else cwd, home)
    if len(PREFIX) + len(line) <= width:
        return (_line(PREFIX, line),) if line else ()
    return tuple(_laid_out(_split_at_and(line), width))


def collapse_cd(command: str, cwd: str) -> str:
    """Return the command without leading `cd`s into the directory it starts in anyway."""
    start = 0
    while (found := _CD.match(command, start)) and _leads_to(found.group(1), cwd):
        start = found.end()
    return command[start:]


def _leads_to(word: str, cwd: str) -> bool:
    plain = word[1:-1] if word[0] in "\"'" else word
    if word[0] != "'":
        plain = _ESCAPED.sub(r"\1", plain)
    return (plain.rstrip("/") or "/") in (".", cwd.rstrip("/") or cwd)


def _split_at_and(line: str) -> list[str]:
    """Return what stands between the `&&`s, leaving those inside quotes alone."""
    parts = [""]
    for found in _PIECES.finditer(line):
        if found.group() == "&&":
            parts.append("")
        else:
            parts[-1] += found.group()
    parts = [part.strip() for part in parts]
    return parts if all(parts) else [line]


def _laid_out(parts: list[str], width: int) -> Iterator[SpanLine]:
    """Fill line after line; what is left for the last one is cut there."""
    lead, left = PREFIX, MAX_LINES
    while parts:
        room = width - len(lead)
        taken = _how_many_fit(parts, room) if left > 1 else len(parts)
        text = f"{_AND} ".join(parts[:taken])
        parts = parts[taken:]
        ending = _AND if parts else ""
        yield _line(lead, shortened(text, room - len(ending)) + ending)
        lead, left = CONTINUATION, left - 1


def _line(lead: str, command: str) -> SpanLine:
    if not command.endswith(_AND):
        return span_line(lead + command)
    return span_line(lead + command.removesuffix(_AND), LineSpan(_AND, kept=True))


def _how_many_fit(parts: list[str], room: int) -> int:
    """Return how many parts go on one line, at least one."""
    used = len(parts[0])
    for count, part in enumerate(parts[1:], 1):
        used += len(_AND) + 1 + len(part)
        is_last = count + 1 == len(parts)
        if used + (0 if is_last else len(_AND)) > room:
            return count
    return len(parts)
