"""
Match the names of a path against the segments of a pattern.

In: names and segments.  Out: yes or no.  `*` and `?` stay within a name, `**` stands for any
number of names, `[...]` and a backslash work as in a shell.  No pattern can make this slow.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ANY_DEPTH = "**"
MAX_ALTERNATIVES = 256
MAX_COMPILED = 64 * 1024  # more lines than an ignore file can have: no rule is compiled twice
_ESCAPED = re.compile(r"\\(.)")
_SPECIAL = re.compile(r"[*?[\\]")


def names_match(names: Sequence[str], segments: Sequence[str], *, hidden: bool) -> bool:
    """Return whether all names match all segments; `hidden` ones may begin with a dot."""
    end = len(segments)
    places = _skipping({0}, segments)  # every way through the pattern at once: how far each got
    for name in names:
        reached: set[int] = set()
        for place in places - {end}:
            if segments[place] == ANY_DEPTH:
                if hidden or not name.startswith("."):
                    reached |= {place, place + 1}
            elif name_matches(name, segments[place], hidden=hidden):
                reached.add(place + 1)
        places = _skipping(reached, segments)
    return end in places


def name_matches(name: str, segment: str, *, hidden: bool) -> bool:
    """Return whether one name is what one segment describes."""
    if name in {"", ".", ".."}:  # never found by a wildcard
        return name == segment
    if name.startswith(".") and not hidden and not segment.startswith("."):
        return False
    if _SPECIAL.search(segment) is None:
        return name == segment
    return _compiled(segment).match(name) is not None


def alternatives(pattern: str) -> tuple[str, ...]:
    """Return a pattern's `{a,b}` written out; one that would give too many stays as it is."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        each = waiting.pop(0)
        braces = _first_braces(each)
        if braces is None:
            done.append(each)
            continue
        start, end, choices = braces
        if len(done) + len(waiting) + len(choices) > MAX_ALTERNATIVES:
            return (pattern,)
        waiting[:0] = [each[:start] + choice + each[end:] for choice in choices]
    return tuple(done)


def _skipping(places: set[int], segments: Sequence[str]) -> set[int]:
    """Add the places behind a `**` that stands for nothing; the last one may not: see `a/**`."""
    found = set(places)
    for place in range(len(segments) - 1):
        if place in found and segments[place] == ANY_DEPTH:
            found.add(place + 1)
    return found


@lru_cache(maxsize=MAX_COMPILED)
def _compiled(segment: str) -> re.Pattern[str]:
    plain = _ESCAPED.sub(lambda found: _literal(found[1]), segment).replace("[^", "[!")
    return re.compile(fnmatch.translate(plain))


def _literal(character: str) -> str:
    return f"[{character}]" if character in "*?[" else character


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """Return where the first `{a,b}` begins and ends, and its choices, in one pass."""
    first: list[int] = []
    open_marks: list[list[int]] = []  # of each brace not closed yet: its place and its commas'
    for place, character in enumerate(pattern):
        if character == "{":
            open_marks.append([place])
        elif character == "," and open_marks:
            open_marks[-1].append(place)
        elif character == "}" and open_marks:
            marks = [*open_marks.pop(), place]
            has_choices = len(marks) > len("{}")
            if has_choices and (not first or marks[0] < first[0]):
                first = marks
    if not first:
        return None
    choices = [pattern[before + 1 : after] for before, after in pairwise(first)]
    return first[0], first[-1] + 1, choices
