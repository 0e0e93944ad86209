"""Which answer a typed text means, and how open questions are kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, json_values

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import (
    MAX_OPTION,
    MAX_OPTIONS,
    MAX_QUESTION,
    WaitingFor,
    asked,
    meant_option,
    questions_from_json,
    questions_to_json,
    waiting_for,
)

LONG = "x" * (MAX_OPTION + 1)


@pytest.mark.parametrize(
    ("options", "typed", "meant"),
    [
        (("red", "green"), "2", "green"),
        (("red", "green"), " Green\n", "green"),
        (("red", "green"), "3", None),
        (("red", "green"), "0", None),
        (("red", "green"), "-1", None),
        (("red", "green"), "²", None),
        (("red", "green"), "9" * 5000, None),
        (("red", "green"), "g", None),
        (("red", "green"), "", None),
        (("2", "1"), "1", "1"),
        (("Yes", "No"), "y", "Yes"),
        (("Yes", "No"), "N", "No"),
        (("Yes", "Never"), "y", None),
        ((), "red", None),
        ((LONG, LONG + "!"), "2", LONG + "!"),
        (("no", LONG), LONG[: MAX_OPTION - 1] + "…", LONG),
        (("\x1b[31mred\x1b[0m", "a  b\n"), "RED", "\x1b[31mred\x1b[0m"),
        (("\x1b[31mred\x1b[0m", "a  b\n"), "a b", "a  b\n"),
        (("red", ""), "2", ""),
    ],
)
def test_an_answer_is_an_option_by_its_number_or_its_words(
    options: tuple[str, ...], typed: str, meant: str | None
) -> None:
    assert meant_option(options, typed) == meant


def test_a_question_is_of_a_size_that_everybody_can_take() -> None:
    question = asked("1", "x" * 10**6, ("y" * 10**6,) * 1000, 600)
    assert len(question.text) == MAX_QUESTION
    assert [len(each) for each in question.options] == [MAX_OPTION] * MAX_OPTIONS


def test_a_question_cannot_drive_a_terminal() -> None:
    question = asked("1", "Which\x1b[2J\u202e?\n\0Say.", ("\x1b]0;x\x07red", "a\nb"), 600)
    assert question == ev.Asked("1", "Which?\nSay.", ("red", "a b"), 600)


def test_a_question_is_waited_for_from_the_moment_it_was_asked() -> None:
    question = ev.Asked("7", "Which?", ("a",), 1.5)
    assert waiting_for(question, 1000) == WaitingFor(2500, "Which?", ("a",), "7")


questions = st.builds(
    WaitingFor, st.integers(0, 2**53), st.text(), st.lists(st.text()).map(tuple), st.text()
)


@briefly
@given(st.lists(questions, max_size=4))
def test_questions_are_read_back_as_they_were_kept(kept: list[WaitingFor]) -> None:
    assert questions_from_json(json.loads(json.dumps(questions_to_json(kept)))) == tuple(kept)


@briefly
@given(json_values)
def test_what_is_not_the_questions_of_a_run_is_refused(content: object) -> None:
    with pytest.raises(ValueError, match="questions"):
        questions_from_json(content)
    with pytest.raises(ValueError, match="questions"):
        questions_from_json({"schemaVersion": 1, "questions": [content]})
