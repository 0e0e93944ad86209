"""
Read a part of a session's text, for both tools that have one.

In: a text and which part of it is wanted.  Out: that part.  A host that takes only so many
characters at once gets the beginning, and the call that goes on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.session.next_calls import call_of
from pi_subagents.core.session.retrieval import with_words
from pi_subagents.core.session.text_part import found_lines, lines_with, part_of
from pi_subagents.service.tools import messages
from pi_subagents.service.tools.tool import SessionReading
from pi_subagents.system.line_search import search_lines
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from pi_subagents.core.session.text_part import PartRequest, TextPart
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.tools.tool import Given


async def read_part(text: str, wanted: PartRequest) -> TextPart:
    """Return a part of a text; PatternRefused where its lines cannot be searched like that."""
    if wanted.grep is None:
        return part_of(text, wanted)
    lines, grep = text.split("\n"), wanted.grep
    if grep.is_pattern:
        search = partial(search_lines, grep.wanted, lines)
        matching = await in_own_thread("grep", search)
    else:
        matching = lines_with(lines, grep.wanted)
    return part_of(found_lines(lines, matching, grep.context), wanted, len(matching))


def piecewise(tool: str) -> SessionReading:
    """Return how a tool keeps to the characters that a host takes at once."""
    return SessionReading(_narrow, partial(_mark_cut, tool))


def _narrow(given: Given, most: int) -> Given:
    whole = given.get("limit") is given.get("tail") is None
    return {**given, "limit": most} if whole else given


def _mark_cut(tool: str, given: Given, answer: JsonObject) -> JsonObject:
    details = answer["details"]
    assert isinstance(details, dict)
    shown, total = details.get("shownCharacters", 0), details["totalCharacters"]
    start = given.get("offset") or 0
    if given.get("tail") or not start < start + shown < total:
        return answer
    end = start + shown
    asked = {key: given[key] for key in given if key not in ("limit", "waitSeconds")}
    call = call_of(tool, **{**asked, "offset": end})
    return with_words(answer, messages.text_goes_on(start, end, total, call))
