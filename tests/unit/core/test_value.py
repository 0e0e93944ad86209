from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.value import as_dict, replace, value


@value
class Point:
    """Somewhere."""

    x: int
    y: int = 0
    label: str = ""

    def sum(self) -> int:
        return self.x + self.y


@value
class Pair:
    x: int
    y: int = 0
    label: str = ""


@value
class Nothing:
    """No content at all."""


def test_a_value_has_its_content_its_defaults_and_its_methods() -> None:
    assert as_dict(Point(1, label="a")) == {"x": 1, "y": 0, "label": "a"}
    assert Point(1, 2).sum() == 3
    assert Point.__doc__ == "Somewhere."
    assert repr(Point(1)) == "Point(x=1, y=0, label='')"


def test_values_are_equal_within_their_own_class_only() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2).__eq__(Pair(1, 2)) is NotImplemented
    assert Point(1).__eq__((1, 0, "")) is NotImplemented
    assert Nothing() == Nothing()
    assert len({Point(1), Point(1), Pair(1), Nothing(), Nothing()}) == 3


def test_nothing_can_be_assigned_added_or_deleted() -> None:
    point = Point(1)
    for name in ("x", "z"):
        with pytest.raises(AttributeError):
            setattr(point, name, 2)
    with pytest.raises(AttributeError):
        del point.x
    assert point == Point(1)
    assert not hasattr(point, "__dict__")


def test_values_match_by_position_and_by_name() -> None:
    match Point(1, 2, "a"):
        case Point(x, y, label=label):
            assert (x, y, label) == (1, 2, "a")
        case _:
            pytest.fail("did not match")


def test_wrong_arguments_are_refused_and_the_signature_can_be_read() -> None:
    with pytest.raises(TypeError):
        Point()  # type: ignore[call-arg]  # the mistake is the test
    with pytest.raises(TypeError):
        Point(1, z=2)  # type: ignore[call-arg]  # the mistake is the test
    assert list(inspect.signature(Point).parameters) == ["x", "y", "label"]


@given(st.integers(), st.integers(), st.text())
def test_replacing_changes_what_was_asked_and_nothing_else(x: int, y: int, label: str) -> None:
    original = Point(x, y, label)
    assert replace(original, y=7) == Point(x, 7, label)
    assert replace(original) == original
    assert original == Point(x, y, label)
