"""
Measure, cut and wrap text by the cells it takes on a terminal.

In: printable text on one line.  Out: cells, or parts of the text that fit.  Terminals disagree on
joined emoji; those are measured as if their parts stood side by side, so that a line may end early
but never runs over.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ELLIPSIS = "…"
_WIDE = ("W", "F")
_NO_CELL = ("Mn", "Me", "Cf")
_AS_EMOJI = "\ufe0f"  # makes a wide picture of the narrow sign before it


def cells(text: str) -> int:
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def cut(text: str, width: int) -> str:
    """Return the text, or as much of its beginning as fits with an ellipsis."""
    if cells(text) <= width:
        return text
    return _beginning(text, width - 1) + ELLIPSIS if width > 0 else ""


@lru_cache(maxsize=8192)
def wrapped(text: str, width: int) -> tuple[str, ...]:
    """Cut a text into lines that fit, at blanks where there are any in their second half."""
    lines = []
    while (line := _beginning(text, width) or text[:1]) != text:
        blank = line.rfind(" ")
        if blank > len(line) // 2 and text[len(line)] != " ":
            line = line[:blank]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return (*lines, text)


def _beginning(text: str, width: int) -> str:
    """Return the longest beginning that takes at most `width` cells."""
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
