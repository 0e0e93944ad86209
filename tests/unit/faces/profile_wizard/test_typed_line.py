"""A line while it is typed, key by key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.profile.questions import Text
from pi_subagents.faces.profile_wizard.keys import CONTROLS, SEQUENCES
from pi_subagents.faces.profile_wizard.typed_line import MAX_OFFERED, TypedLine

ONE = Text("Model:", "", ("claude-opus", "claude-sonnet", "gpt"))
LIST = Text("Tools:", "", ("read", "bash", "grep"), is_list=True)


def typed(question: Text, *keys: str) -> TypedLine:
    line = TypedLine.of(question)
    for key in keys:
        line = line.after(key)
    return line


@pytest.mark.parametrize(
    ("keys", "text", "cursor"),
    [
        (["a", "b"], "oldab", 5),
        (["left", "left", "a"], "oald", 2),
        (["home", "left", "a"], "aold", 1),
        (["home", "delete"], "ld", 0),
        (["home", "right", "backspace"], "ld", 0),
        (["home", "backspace"], "old", 0),
        (["home", "end", "right", "a"], "olda", 4),
        (["clear", "é", "漢"], "é漢", 2),
        (["\x1b", "\x07", "", "escape", "\u202e"], "old", 3),
    ],
)
def test_keys_edit_the_line_around_the_cursor(keys: list[str], text: str, cursor: int) -> None:
    line = typed(Text("Model:", "old"), *keys)
    assert (line.answer(), line.cursor, line.ends_with_enter) == (text, cursor, True)


def test_what_is_typed_narrows_what_is_offered() -> None:
    assert typed(ONE).matching == ONE.offers
    assert typed(ONE, *"SON").matching == ("claude-sonnet",)
    assert typed(ONE, *"none").after("tab").answer() == "none"
    assert typed(ONE, *"none").after("down").answer() == "none"


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["down"], "claude-opus"),
        (["down", "down"], "claude-sonnet"),
        (["up"], "gpt"),
        (["down", "up"], "gpt"),
        (["down", "down", "down", "down"], "claude-opus"),
        (["down", "x"], "x"),
        (["g", "down"], "gpt"),
        (["s", "tab"], "claude-opus"),
    ],
)
def test_an_offer_that_is_pointed_at_is_the_answer(keys: list[str], answer: str) -> None:
    line = typed(ONE, *keys)
    assert (line.answer(), line.ends_with_enter) == (answer, True)


def test_in_a_list_each_item_is_completed_and_never_offered_twice() -> None:
    line = typed(LIST, "r", "e", "tab")
    assert line.answer() == "read"
    line = line.after(",").after("down")
    assert (line.matching, line.ends_with_enter) == (("bash", "grep"), False)
    line = line.after("enter")
    assert (line.answer(), line.cursor, line.ends_with_enter) == ("read, bash", 10, True)


def test_in_a_list_arrows_alone_take_one_item_after_the_other() -> None:
    line = typed(LIST, "down", "enter")
    assert (line.answer(), line.matching) == ("read", ("bash", "grep"))
    line = line.after("down").after("down").after("enter")
    assert (line.answer(), line.matching) == ("read, grep", ("bash",))
    line = line.after("up").after("enter")
    assert (line.answer(), line.matching) == ("read, grep, bash", ())
    assert line.after("down").answer() == "read, grep, bash"


def test_an_item_that_could_become_a_longer_one_is_still_being_typed() -> None:
    skills = Text("Skills:", "", ("test", "test-all", "lint"), is_list=True)
    line = typed(skills, *"test")
    assert line.matching == ("test-all",)
    assert line.after("tab").answer() == "test-all"
    assert line.after(",").matching == ("test-all", "lint")


def test_few_of_many_offers_are_shown_and_the_one_pointed_at_is_among_them() -> None:
    question = Text("Model:", "", tuple(f"m{n}" for n in range(20)))
    assert typed(question).offered == tuple((f"m{n}", False) for n in range(MAX_OFFERED))
    line = typed(question, *["down"] * 10)
    assert line.offered == tuple((f"m{n}", n == 9) for n in range(2, 10))


keys = st.sampled_from([*SEQUENCES.values(), *CONTROLS.values(), ""]) | st.characters()


@thoroughly
@given(st.sampled_from([ONE, LIST, Text("x", "a, b")]), st.lists(keys, max_size=12))
def test_no_keys_bring_the_cursor_out_of_the_line(question: Text, pressed: list[str]) -> None:
    line = typed(question, *pressed)
    assert 0 <= line.cursor <= len(line.text)
    assert sum(pointed for _, pointed in line.offered) == (line.pointed is not None)
