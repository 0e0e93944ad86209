from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, texts, thoroughly

from pi_subagents.core.answer.finding import MAX_DEPTH, FoundJson, find_json, is_too_deep


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"n": 1}', {"n": 1}),
        (" \n[1, 2]\n", [1, 2]),
        ("42", 42),
        ("null", None),
        ('"a text"', "a text"),
        ('Here:\n```json\n{"n": 1}\n```\nDone.', {"n": 1}),
        ("```\n[1]\n```\nand better:\n```json\n[2]\n```", [2]),
        ('```json\n{"n": 1}\n```\n```python\nprint({})\n```', {"n": 1}),
        ("```json\n42\n```", 42),
        ('I think {"n": 1} is right; or rather {"n": {"m": [2]}}.', {"n": {"m": [2]}}),
        ('The set {x, y} gave {"n": 1} [1].', {"n": 1}),
        ("It is [1, [2, 3]], I believe.", [1, [2, 3]]),
        ('{"text": "a } and a \\" and ``` inside"}', {"text": 'a } and a " and ``` inside'}),
        ('so {"a": "{"} ends', {"a": "{"}),
    ],
)  # fmt: skip
def test_the_value_in_a_text_is_found(text: str, value: object) -> None:
    assert find_json(text) == FoundJson(value)


@pytest.mark.parametrize(
    "text",
    ["", "no", "{", "[", "{x}", "{'n': 1}", "NaN", '{"n": NaN}', "```json\n{\n```", "[Infinity]"],
)  # fmt: skip
def test_where_there_is_none_none_is_made_up(text: str) -> None:
    assert find_json(text) is None


@pytest.mark.parametrize("text", ["[" * 1_000_000, '{"a":' * 200_000, '["' + "[" * 1_000_000])
def test_a_text_made_to_take_long_is_given_up(text: str) -> None:
    assert find_json(text) is None


@thoroughly
@given(st.text(max_size=300) | st.text(alphabet='{}[]",:`\n1a\\ ', max_size=300))
def test_any_text_is_searched_to_an_end(text: str) -> None:
    find_json(text)


@thoroughly
@given(json_values, texts, texts)
def test_an_object_in_prose_is_found_whatever_stands_around_it(
    value: object, before: str, after: str
) -> None:
    assume(not set('{}[]`"\\') & set(before + after))
    held = {"held": value}
    assert find_json(f"{before} {json.dumps(held)} {after}") == FoundJson(held)


@pytest.mark.parametrize(
    ("levels", "too_deep"), [(1, False), (MAX_DEPTH, False), (MAX_DEPTH + 1, True)]
)
def test_only_so_many_levels_are_written_down(levels: int, *, too_deep: bool) -> None:
    value: object = 1
    for _ in range(levels):
        value = [value]
    assert is_too_deep(value) is too_deep
