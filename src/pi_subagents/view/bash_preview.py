"""
Show a shell command in little room: without a needless `cd`, on one line, or cut at its `&&`.

In: a command as the model wrote it, the child's working directory, home, and a width.
Out: one to `MAX_LINES` lines, or none where there is no command.  The first begins with `bash → `,
the others with `│ `; a line that goes on keeps its `&&` wherever it is cut.
Of a command of several lines only the first is shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.path_text import shorten_paths_in_text
from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.view.preview import LineSpan, Preview, SpanLine, span_line

if TYPE_CHECKING:
    from collections.abc import Iterator

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
