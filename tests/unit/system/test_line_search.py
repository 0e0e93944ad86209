"""A search by a pattern finds what `re` finds, and ends whatever the pattern is."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_subagents.errors import PatternRefused
from pi_subagents.system import line_search
from pi_subagents.system.line_search import search_lines

LINES = ["def run():", "    return 1", "", "cut \ud83d here", "\x1b[31m naïve"]


@pytest.mark.parametrize(
    "pattern", ["def \\w+", "^$", "\\d$", "(?i)RETURN", "na.ve", "\ud83d", "nope"]
)
def test_it_finds_what_re_finds(pattern: str) -> None:
    expected = [place for place, line in enumerate(LINES) if re.search(pattern, line)]
    assert search_lines(pattern, LINES) == expected


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<x", "*", "(?<=a+)b"])
def test_what_is_no_pattern_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(PatternRefused, match=r"^grep: is no pattern: .+"):
        search_lines(pattern, LINES)


SLOW = {
    "nested repeats": ("(a+)+$", "a" * 64 + "!"),
    "alternatives that overlap": ("(a|a)*$", "a" * 64 + "!"),
    "nested optional repeats": ("(a*)*b", "a" * 64),
    "a repeat with a reference": (r"(a+)\1+\1+\1+b", "a" * 20_000),
    "many repeats side by side": ("a*a*a*a*a*a*b", "a" * 5_000),
    "a huge count": ("((a{1,999}){1,999}){1,999}b", "a" * 64),
    "nested groups": ("(" * 99 + "a" + ")*" * 99 + "b", "a" * 64),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_no_pattern_makes_it_slow(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ends it: our own limit on the clock is never needed."""
    monkeypatch.setattr(line_search, "WALL_S", None)
    pattern, line = SLOW[kind]
    found = None
    with suppress(PatternRefused):
        found = search_lines(pattern, [line])
    assert found in (None, [], [0])


def test_a_search_that_the_machine_has_no_time_for_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_search, "WALL_S", 0)
    with pytest.raises(PatternRefused, match="takes too long"):
        search_lines("a", LINES)


@settings(max_examples=8, deadline=None)
@given(st.text(alphabet="ab()[]{}*+?|\\.^$1,", min_size=1, max_size=30))
def test_any_pattern_is_searched_with_or_refused(pattern: str) -> None:
    try:
        found = search_lines(pattern, ["ab" * 40, "a" * 80])
    except PatternRefused:
        return
    assert set(found) <= {0, 1}
