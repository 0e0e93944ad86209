from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.cluster.wrapping import unwrapped, wrapped


@thoroughly
@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_comes_back_and_no_character_is_left_that_a_database_cannot_keep(
    text: str,
) -> None:
    content = json.dumps({"output": text}).encode()
    inside = wrapped(content)
    assert all("\0" not in str(each) and str(each).isascii() for each in inside.values())
    assert unwrapped(inside) == content


@pytest.mark.parametrize("other", [None, {}, {"json": 1}, {"json": "{}", "more": 1}, {"json": "ü"}])
def test_what_is_not_wrapped_is_refused(other: object) -> None:
    with pytest.raises(ValueError, match=r"not an object of ours|ascii"):
        unwrapped(other)
