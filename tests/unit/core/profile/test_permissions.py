"""What a file says of permissions, and the stricter of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

from pi_subagents.core.profile.permissions import (
    KINDS,
    WORDS,
    Permissions,
    permissions_field,
    permissions_to_file,
)

if TYPE_CHECKING:
    from pi_subagents.core.definitions.frontmatter import Value

permissions = st.builds(Permissions, *[st.sampled_from(WORDS)] * len(KINDS))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (None, Permissions()),
        ("allow", Permissions()),
        ("ask", Permissions("ask", "ask", "ask", "ask", "ask")),
        ({"edit": "deny"}, Permissions(edit="deny")),
        ({"read": "allow", "other": "ask"}, Permissions(other="ask")),
        ({}, Permissions()),
    ],
)
def test_one_word_counts_for_all_kinds_and_what_is_not_named_is_allowed(
    said: Value, meant: Permissions
) -> None:
    assert permissions_field(said) == meant


@pytest.mark.parametrize(
    "said", ["Deny", "", "yes", [], ["ask"], {"write": "deny"}, {"edit": None}, {"edit": ["ask"]}]
)
def test_what_cannot_be_understood_is_refused_and_never_allowed(said: Value) -> None:
    with pytest.raises(TypeError, match="must be one of allow, ask, deny"):
        permissions_field(said)


@briefly
@given(permissions)
def test_they_are_read_back_as_they_were_written(wanted: Permissions) -> None:
    assert permissions_field(dict(permissions_to_file(wanted))) == wanted


@briefly
@given(permissions, permissions)
def test_the_stricter_word_of_each_kind_counts(one: Permissions, other: Permissions) -> None:
    both = one.tightened_by(other)
    for kind in KINDS:
        pair = (one.by_kind[kind], other.by_kind[kind])
        assert both.by_kind[kind] == max(pair, key=WORDS.index)
