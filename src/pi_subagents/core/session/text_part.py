"""
A part of a text: characters of it, or the lines that match, with their numbers.

In: the parameters of a retrieval tool, then a text and, where lines are wanted, which ones match.
Out: a TextPart.  Where lines are wanted, `offset`, `limit` and `tail` count in what was found, so
that a long finding is read piece by piece like any text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.parameters import optional_flag, whole
from pi_subagents.core.value import value
from pi_subagents.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_GREP = 200
MAX_CONTEXT = 100
PART_KEYS = ("offset", "limit", "tail", "grep", "regex", "context")
_GAP = "--"


@value
class Grep:
    """Which lines are wanted: those with a text, or a match of a pattern, and some around them."""

    wanted: str
    is_pattern: bool = False
    context: int = 0


@value
class PartRequest:
    """Which part of a text is wanted; as it is, all of it."""

    offset: int = 0
    limit: int | None = None
    tail: int | None = None
    grep: Grep | None = None


@value
class TextPart:
    """What was asked for, of a text (or of what was found in it) with so many characters."""

    text: str
    total: int
    matching_lines: int | None = None


def parse_part(given: Mapping[str, object]) -> PartRequest:
    """Read the parameters that ask for a part."""
    return PartRequest(
        offset=_count(given, "offset") or 0,
        limit=_count(given, "limit"),
        tail=_count(given, "tail"),
        grep=_parse_grep(given),
    )


def _parse_grep(given: Mapping[str, object]) -> Grep | None:
    wanted, context = given.get("grep"), _count(given, "context") or 0
    is_pattern = optional_flag("regex", given.get("regex"))
    if wanted is None:
        return None
    if not isinstance(wanted, str):
        raise InvalidRequest("grep", messages.MUST_BE_STRING)
    if not 1 <= len(wanted) <= MAX_GREP:
        raise InvalidRequest("grep", messages.wrong_length(MAX_GREP))
    if "\n" in wanted:
        raise InvalidRequest("grep", messages.MUST_BE_ONE_LINE)
    return Grep(wanted, is_pattern, min(context, MAX_CONTEXT))


def lines_with(lines: Sequence[str], wanted: str) -> list[int]:
    """Return the places of the lines that have a text."""
    return [place for place, line in enumerate(lines) if wanted in line]


def found_lines(lines: Sequence[str], matching: Sequence[int], context: int) -> str:
    """Return lines as `grep -n` prints them: `3:a match`, `4-beside it`, `--` where some miss."""
    matches = set(matching)
    shown: list[str] = []
    after = 0  # the place behind the last line that is shown
    for match in matching:
        first = max(match - context, after)
        if shown and first > after:
            shown.append(_GAP)
        last = min(match + context + 1, len(lines))
        shown += [
            f"{place + 1}{':' if place in matches else '-'}{lines[place]}"
            for place in range(first, last)
        ]
        after = max(last, after)
    return "\n".join(shown) or messages.no_line_matches(len(lines))


def part_of(text: str, wanted: PartRequest, matching_lines: int | None = None) -> TextPart:
    """Return the characters that are wanted of a text."""
    tail = wanted.tail
    part = text[wanted.offset :] if tail is None else text[max(len(text) - tail, 0) :]
    part = part if wanted.limit is None else part[: wanted.limit]
    return TextPart(part, len(text), matching_lines)


def _count(given: Mapping[str, object], key: str) -> int | None:
    value = whole(given.get(key))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidRequest(
            key, messages.MUST_BE_LINES if key == "context" else messages.MUST_BE_COUNT
        )
    return value
