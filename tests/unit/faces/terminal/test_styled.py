from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.virtual_terminal import VirtualTerminal
from tests.unit.core.given_values import thoroughly

from pi_subagents.faces.terminal.cells import StyledLine, as_text, cells, changes, fitted

LINE: StyledLine = (("ab", "bold"), ("cd", "muted"))
LINES = st.lists(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("ab日 "), max_size=5), st.sampled_from(["plain", "error"])
        ),
        max_size=3,
    ).map(tuple),
    max_size=5,
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (4, LINE),
        (3, (("ab", "bold"), ("…", "muted"))),
        (2, (("a…", "bold"),)),
        (1, (("…", "bold"),)),
        (0, (("", "bold"),)),
    ],
)
def test_a_line_is_cut_in_the_style_it_has_there(width: int, shown: StyledLine) -> None:
    assert fitted(LINE, width) == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (24, "begins so and so/end.py!"),
        (23, "begins so and …/end.py!"),
        (20, "begins so a…/end.py!"),
        (19, "begins so and so/e…"),
    ],
)
def test_a_line_that_is_cut_keeps_its_end(width: int, shown: str) -> None:
    line: StyledLine = (("begins ", "bold"), ("so and so", "muted"))
    end: StyledLine = (("/end.py", "muted"), ("!", "added"))
    assert as_text(fitted(line, width, end), coloured=False) == shown


def test_a_line_is_sent_with_its_styles_or_without_any() -> None:
    line: StyledLine = (("a", "plain"), ("b", "bold"), ("c", "removed"))
    assert as_text(line, coloured=True) == "a\x1b[1mb\x1b[0m\x1b[31mc\x1b[0m"
    assert as_text(line, coloured=False) == "abc"


def test_only_rows_that_differ_are_sent() -> None:
    one: StyledLine = (("one", "plain"),)
    two: StyledLine = (("two", "plain"),)
    assert changes([one, one], [one, two], coloured=False) == "\x1b[2;1H\x1b[2Ktwo"
    assert changes([one, two], [one], coloured=False) == "\x1b[2;1H\x1b[2K"
    assert changes([one], [one], coloured=False) == ""


@thoroughly
@given(LINES, LINES)
def test_changes_lead_to_the_same_screen_as_painting_it_anew(
    before: list[StyledLine], after: list[StyledLine]
) -> None:
    step_by_step, at_once = VirtualTerminal(), VirtualTerminal()
    for terminal, states in ((step_by_step, [before, after]), (at_once, [after])):
        terminal.feed("\x1b[?1049h\x1b[2J")
        shown: list[StyledLine] = []
        for state in states:
            terminal.feed(changes(shown, state, coloured=True))
            shown = state
    assert step_by_step.screen.rows == at_once.screen.rows


@thoroughly
@given(LINES, st.integers(0, 20))
def test_whatever_is_fitted_fits(lines: list[StyledLine], width: int) -> None:
    for line in lines:
        assert sum(cells(text) for text, _ in fitted(line, width)) <= width
        for end in lines:
            assert sum(cells(text) for text, _ in fitted(line, width, end)) <= width
