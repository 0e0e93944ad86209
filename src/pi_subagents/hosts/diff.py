"""
Show what changes in a configuration file, line by line, without what is none of our business.

In: the text before and after.  Out: the lines of a unified diff.  Other people's keys may stand
beside our entry, so of all quoted texts only names and what is new are shown.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTEXT = 3
_LONGEST = 160
_FIRST_LINE = re.compile(r"\+(\d+)")
# A text may go on in the next line; one before a colon or an equals sign is a name.
_TEXT = re.compile(r"""(?P<text>"(?:[^"\\]|\\.?)*(?:"|$)|'[^']*(?:'|$))(?P<sign>\s*[:=])?""")
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_HIDDEN = '"…"'

KeyPlace = tuple[int, int]  # the number of a line, and where in it


def diff_lines(before: str, after: str, path: str) -> list[str]:
    """Return the difference, without line ends; empty where there is none."""
    # In a text of several lines no quote tells what is hidden, so nothing around is shown.
    around = 0 if _LONG_TEXT.search(before) else _CONTEXT
    rows = list(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), path, path, n=around, lineterm=""
        )
    )
    return rows[:2] + list(_shown(rows[2:], _new_texts(before, after)))


def _shown(rows: list[str], new: set[KeyPlace]) -> Iterator[str]:
    line = 0
    for row in rows:
        mark, text = row[:1], row[1:]
        if mark == "@" and (found := _FIRST_LINE.search(row)):
            line = int(found[1]) - 1
            yield row
            continue
        shown = _hidden(text, {at for number, at in new if number == line and mark == "+"})
        # All of a file may be on one line.
        yield mark + (shown if len(shown) <= _LONGEST else f"(a line of {len(text)} characters)")
        line += mark != "-"


def _hidden(text: str, new: set[int]) -> str:
    """Return a line without its quoted texts, but for names and those that are new."""
    return _TEXT.sub(
        lambda found: found[0] if found["sign"] or found.start() in new else _HIDDEN, text
    )


def _new_texts(before: str, after: str) -> set[KeyPlace]:
    """Return where texts stand that came with the change."""
    start = len(posixpath.commonprefix([before, after]))
    behind = len(posixpath.commonprefix([before[start:][::-1], after[start:][::-1]]))
    gone = {text for _, text in _texts(before, start, len(before) - behind)}
    return {place for place, text in _texts(after, start, len(after) - behind) if text not in gone}


def _texts(text: str, start: int, end: int) -> Iterator[tuple[KeyPlace, str]]:
    """Yield the quoted texts of which some is in that part, however little."""
    at = 0
    for number, line in enumerate(text.splitlines(keepends=True)):
        for found in _TEXT.finditer(line.rstrip("\r\n")):
            if at + found.start() < end and at + found.end("text") > start:
                yield (number, found.start()), found["text"]
        at += len(line)
