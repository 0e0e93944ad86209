"""A part of a text: characters, or the lines that match with their numbers and those around them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages
from pi_subagents.core.session.text_part import (
    MAX_CONTEXT,
    PartRequest,
    TextPart,
    found_lines,
    lines_with,
    parse_part,
    part_of,
)

LINES = ["zero", "one", "two", "three", "four", "five", "six", "seven"]


@pytest.mark.parametrize(
    ("wanted", "context", "shown"),
    [
        ("two", 0, "3:two"),
        ("e", 0, "1:zero\n2:one\n--\n4:three\n--\n6:five\n--\n8:seven"),
        ("two", 1, "2-one\n3:two\n4-three"),
        ("two", 99, "1-zero\n2-one\n3:two\n4-three\n5-four\n6-five\n7-six\n8-seven"),
        ("x", 1, "6-five\n7:six\n8-seven"),
        ("o", 1, "1:zero\n2:one\n3:two\n4-three\n5:four\n6-five"),
        ("nine", 2, messages.no_line_matches(8)),
    ],
)
def test_lines_are_found_as_grep_shows_them(wanted: str, context: int, shown: str) -> None:
    assert found_lines(LINES, lines_with(LINES, wanted), context) == shown


def test_a_text_is_no_pattern() -> None:
    assert lines_with(["a.c", "abc", "A.C"], "a.c") == [0]


def test_a_part_of_what_was_found_is_counted_in_it() -> None:
    found = found_lines(LINES, lines_with(LINES, "t"), 0)
    assert found == "3:two\n--\n4:three".replace("\n--", "")
    assert part_of(found, PartRequest(offset=6, limit=4), 2) == TextPart("4:th", 13, 2)
    assert part_of(found, PartRequest(tail=3), 2) == TextPart("ree", 13, 2)


def test_more_context_than_there_may_be_is_the_most_there_is() -> None:
    grep = parse_part({"grep": "x", "context": 10**9}).grep
    assert grep is not None
    assert grep.context == MAX_CONTEXT


lines = st.lists(st.sampled_from(["a", "b", "ab", "", "c"]), min_size=1, max_size=30)


@thoroughly
@given(lines, st.sampled_from(["a", "b", "c", "ab"]), st.integers(0, 5))
def test_every_match_and_its_neighbours_are_shown_once_and_in_order(
    some: list[str], wanted: str, context: int
) -> None:
    matching = lines_with(some, wanted)
    shown = found_lines(some, matching, context).split("\n")
    if not matching:
        return
    numbers = []
    for line in shown:
        if line == "--":
            continue
        found = re.fullmatch(r"(\d+)([:-])(.*)", line)
        assert found
        place = int(found[1]) - 1
        assert found[3] == some[place]
        assert (found[2] == ":") == (place in matching)
        numbers.append(place)
    near = {
        place
        for match in matching
        for place in range(max(match - context, 0), min(match + context + 1, len(some)))
    }
    assert numbers == sorted(near)
    gaps = sum(after - before > 1 for before, after in pairwise(numbers))
    assert shown.count("--") == gaps
