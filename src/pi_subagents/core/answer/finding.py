"""
Find the JSON in what a model said, where it had no other way to give a value.

In: any text.  Out: the value, or nothing: the whole text, else the last code block that is JSON,
else the last object in the prose (or the last array, where there is no object).  The work is
bounded for every text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FAILED = 1000  # beginnings that turned out to be none
MAX_DEPTH = 64  # what is nested deeper might not be written down again
_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_OPENING = re.compile(r"[{\[]")


@value
class FoundJson:
    """A value that was found, which may be null."""

    value: object


def find_json(text: str) -> FoundJson | None:
    """Return the value that a text holds."""
    blocks = (text, *reversed(_FENCED.findall(text)))
    for block in blocks:
        if (found := _decoded(block.strip())) is not None:
            return found
    last: dict[type, FoundJson] = {}
    for found in _in_prose(text):
        last[type(found.value)] = found
    return last.get(dict) or last.get(list)


def is_too_deep(given: object) -> bool:
    """Return whether containers nest deeper than we write down."""
    level = [given]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers_in(outer)]
        if not level:
            return False
    return True


def _containers_in(outer: object) -> list[object]:
    inner = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
    return [each for each in inner if isinstance(each, dict | list)]


def _decoded(text: str) -> FoundJson | None:
    try:
        return FoundJson(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return None


def _in_prose(text: str) -> Iterator[FoundJson]:
    """Yield the objects and arrays of a text, none that is inside another."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    place = failed = 0
    while failed < MAX_FAILED and (opening := _OPENING.search(text, place)):
        try:
            found, place = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            failed += 1
            place = opening.end()
        else:
            yield FoundJson(found)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
