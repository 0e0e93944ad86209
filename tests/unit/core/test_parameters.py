from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, texts, thoroughly

from pi_subagents.core import messages
from pi_subagents.core import parameters as p
from pi_subagents.errors import CwdHasParentSegments, CwdNotAbsolute, InvalidRequest, RequestError


def refusal_of(call: object, *arguments: object) -> tuple[str, str]:
    assert callable(call)
    with pytest.raises(InvalidRequest) as refused:
        call("here", *arguments)
    return refused.value.where, refused.value.problem


def test_a_field_that_nobody_reads_is_refused_by_name() -> None:
    p.refuse_unknown("here", {"b": 1}, ("a", "b"))
    assert refusal_of(p.refuse_unknown, {"a": 1, "c": 1}, ["a", "b"]) == (
        "here",
        'unknown field "c"; known: a, b',
    )


@pytest.mark.parametrize("value", [None, "", 1, [], True])
def test_a_required_text_must_be_there(value: object) -> None:
    assert p.required_text("here", "x") == "x"
    assert refusal_of(p.required_text, value) == ("here", messages.NEEDS_STRING)


@pytest.mark.parametrize("value", [1, [], {}, False])
def test_an_optional_text_is_one_or_nothing(value: object) -> None:
    assert (p.optional_text("here", "x"), p.optional_text("here", None)) == ("x", None)
    assert refusal_of(p.optional_text, value) == ("here", messages.MUST_BE_STRING)


@pytest.mark.parametrize("value", [1, 0, "true", []])
def test_a_flag_is_yes_no_or_nothing(value: object) -> None:
    assert [p.optional_flag("here", given) for given in (True, False, None)] == [True, False, False]
    assert refusal_of(p.optional_flag, value) == ("here", messages.MUST_BE_FLAG)


@pytest.mark.parametrize("value", [None, True, "1", [1]])
def test_seconds_are_a_number(value: object) -> None:
    assert refusal_of(p.seconds, value, 0, 9) == ("here", messages.MUST_BE_SECONDS)


@pytest.mark.parametrize("value", [-1, 9.1, math.nan, math.inf, 10**400])
def test_seconds_have_limits(value: float) -> None:
    assert [p.seconds("here", given, 0, 9) for given in (0, 2.5, 9)] == [0, 2.5, 9]
    assert refusal_of(p.seconds, value, 0, 9) == ("here", "must be 0 to 9 seconds")


def test_a_list_holds_objects_and_nothing_else() -> None:
    assert p.objects("here", [{}, {"a": 1}], "problem") == [{}, {"a": 1}]
    assert refusal_of(p.objects, {}, "problem") == ("here", "problem")
    assert refusal_of(p.objects, [{}, 1], "problem") == ("here[1]", messages.NEEDS_OBJECT)


@pytest.mark.parametrize(
    ("cwd", "kind"),
    [
        ("a", CwdNotAbsolute),
        ("", CwdNotAbsolute),
        ("~/a", CwdNotAbsolute),
        ("/a/../b", CwdHasParentSegments),
        ("/..", CwdHasParentSegments),
        ("../a", CwdNotAbsolute),
        ("/a\0b", InvalidRequest),
    ],
)
def test_a_directory_is_absolute_and_does_not_climb(cwd: str, kind: type[RequestError]) -> None:
    with pytest.raises(kind):
        p.check_cwd("here", cwd)


@pytest.mark.parametrize("cwd", ["/", "/a", "/a..b/..c", "/a/./b/"])
def test_a_directory_may_have_dots_in_its_name(cwd: str) -> None:
    p.check_cwd("here", cwd)


@thoroughly
@given(json_values, st.lists(texts, max_size=3))
def test_any_value_is_read_or_refused(value: object, known: list[str]) -> None:
    given_object = value if isinstance(value, dict) else {"a": value}
    for read in (
        lambda: p.refuse_unknown("here", given_object, known),
        lambda: p.required_text("here", value),
        lambda: p.optional_text("here", value),
        lambda: p.optional_flag("here", value),
        lambda: p.seconds("here", value, 0, 10),
        lambda: p.objects("here", value, "problem"),
        lambda: p.check_cwd("here", value) if isinstance(value, str) else None,
    ):
        with suppress(RequestError):
            read()
