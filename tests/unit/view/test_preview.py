from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import added, kept
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.plain_text import shortened
from pi_subagents.view.preview import (
    LineSpan,
    SpanLine,
    continued,
    line_text,
    path_line,
    shortened_line,
    span_line,
)

roles = st.sampled_from(["plain", "muted", "added", "removed", "steer"])
pieces = st.lists(
    st.text(max_size=4) | st.builds(LineSpan, st.text(max_size=4), roles, st.booleans()), max_size=6
)


def test_neighbours_that_are_alike_are_one_span_and_empty_ones_are_none() -> None:
    assert span_line("a", "", "b", added("1"), added(""), added("2"), kept("c"), "d") == (
        LineSpan("ab"),
        added("12"),
        kept("c"),
        LineSpan("d"),
    )
    assert span_line("", added("")) == ()


@pytest.mark.parametrize(
    ("path", "begin", "end"),
    [
        ("a/b/c.py", "read → a/b", "/c.py"),
        ("a/b/", "read → a", "/b/"),
        ("/etc", "read → ", "/etc"),
        ("a.py", "read → a.py", ""),
        ("a/", "read → a/", ""),
        ("/", "read → /", ""),
    ],
)
def test_the_last_name_of_a_path_is_kept_with_its_slash(path: str, begin: str, end: str) -> None:
    assert path_line("read → ", path) == span_line(begin, kept(end))


def test_what_stands_behind_a_name_is_kept_with_it_and_in_its_role() -> None:
    number = LineSpan("1", "added", kept=True)
    assert path_line("", "a/b", " ", added("1")) == (LineSpan("a"), kept("/b "), number)
    assert path_line("", "ab", " ", added("1")) == (LineSpan("ab "), added("1"))
    assert continued((LineSpan("a"), kept("/b")), " ", added("1")) == (
        LineSpan("a"), kept("/b "), number,
    )  # fmt: skip


def test_a_line_is_shortened_in_the_span_where_it_is_too_long() -> None:
    line = (LineSpan("abc"), added("12"), LineSpan("de"))
    assert shortened_line(line, 7) == line
    assert shortened_line(line, 6) == (LineSpan("abc"), added("12"), LineSpan("…"))
    assert shortened_line(line, 5) == (LineSpan("abc"), added("1…"))
    assert shortened_line(line, 1) == (LineSpan("…"),)


@thoroughly
@given(pieces, st.integers(1, 30))
def test_the_plain_text_of_a_line_is_the_join_of_its_pieces(
    made: list[str | LineSpan], width: int
) -> None:
    text = "".join(piece if isinstance(piece, str) else piece.text for piece in made)
    line: SpanLine = span_line(*made)
    assert line_text(line) == text
    assert line_text(shortened_line(line, width)) == shortened(text, width)
