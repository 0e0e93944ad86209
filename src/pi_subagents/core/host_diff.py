"""
Show what changes in a configuration file, line by line, without what is none of our business.

In: the text before and after.  Out: the lines of a unified diff.  Other people's keys may stand
beside our entry, so values of lines that stay, or go, are hidden.
"""

from __future__ import annotations

import difflib
import posixpath
import re

_CONTEXT = 3
_LONGEST = 160
_VALUE = re.compile(r"""([:=]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')""")
_ITEM = re.compile(r"""^(\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*')(,?\s*)$""")
_HIDDEN = r'\1"…"'


def diff_lines(before: str, after: str, path: str) -> list[str]:
    """Return the difference, without line ends; empty where there is none."""
    rows = list(
        difflib.unified_diff(
            before.splitlines(), after.splitlines(), path, path, n=_CONTEXT, lineterm=""
        )
    )
    gone = [row[1:] for row in rows[2:] if row.startswith("-")]
    return rows[:2] + [_shown(row, gone) for row in rows[2:]]


def _shown(row: str, gone: list[str]) -> str:
    if row.startswith("@@"):
        return row
    mark, text = row[:1], row[1:]
    text = _new_part_shown(text, gone) if mark == "+" else _hidden(text)
    # All of a file may be on one line.
    return mark + (text if len(text) <= _LONGEST else f"(a line of {len(row) - 1} characters)")


def _new_part_shown(text: str, gone: list[str]) -> str:
    """Return a new line; where it is an old one with something put in, only that is shown."""
    for old in sorted(gone, key=len, reverse=True):
        before = len(posixpath.commonprefix([old, text]))
        behind = len(old) - before
        if text.endswith(old[before:]):
            end = len(text) - behind
            return _hidden(text[:before]) + text[before:end] + _hidden(text[end:])
    return text


def _hidden(text: str) -> str:
    return _ITEM.sub(rf"{_HIDDEN}\2", _VALUE.sub(_HIDDEN, text))
