from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.terminal.cells import cells, cut, wrapped

LINES = st.text(st.sampled_from("ab 日本é🎉👩‍👩‍👧⚠️e\u0301")).map(lambda text: one_line(text, 500))


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("plain", 5),
        ("é", 1),
        ("e\u0301", 1),
        ("日本", 4),
        ("\uff46\uff55", 4),
        ("⏳", 2),
        ("✓", 1),
        ("🎉", 2),
        ("⚠️", 2),
        ("👩\u200d👧", 4),
        ("a\u200bb", 2),
    ],
)
def test_a_text_takes_the_cells_that_a_terminal_gives_it(text: str, width: int) -> None:
    assert cells(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("plain", 5, "plain"),
        ("plain", 4, "pla…"),
        ("plain", 1, "…"),
        ("plain", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 2, "…"),
    ],
)
def test_what_does_not_fit_is_cut_with_an_ellipsis(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, ("",)),
        ("short", 5, ("short",)),
        ("two words", 5, ("two", "words")),
        ("two words", 3, ("two", "wor", "ds")),
        ("a longwordhere", 8, ("a longwo", "rdhere")),
        ("some more words", 9, ("some more", "words")),
        ("日本語のテキスト", 6, ("日本語", "のテキ", "スト")),
        ("日本", 1, ("日", "本")),
        ("    indented text", 12, ("    indented", "text")),
    ],
)
def test_a_long_text_is_wrapped_at_blanks_or_where_it_must_be(
    text: str, width: int, lines: tuple[str, ...]
) -> None:
    assert wrapped(text, width) == lines


@thoroughly
@given(LINES, st.integers(0, 40))
def test_whatever_is_cut_fits_and_is_a_beginning(text: str, width: int) -> None:
    shown = cut(text, width)
    assert cells(shown) <= width
    if cells(text) <= width:
        assert shown == text
    else:
        assert text.startswith(shown.removesuffix("…"))


@thoroughly
@given(LINES, st.integers(2, 40))
def test_whatever_is_wrapped_fits_and_loses_only_blanks(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
