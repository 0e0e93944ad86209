from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.specs import make_order, make_spec
from tests.unit.core.given_values import briefly, texts

from pi_subagents.store.local_order import LocalOrder, order_from_json, order_to_json

SPEC = make_spec("r", "s", "name", ("pi", "-p"), "/project")
numbers = st.none() | st.integers(0, 1000)
orders = st.builds(
    make_order,
    st.builds(make_spec, texts, texts, texts, st.just(("pi",)), texts, keep=st.booleans()),
    run_dir=texts,
    desk=texts,
    dir_mark=texts,
    slots_dir=texts,
    lock_fd=numbers,
    envelope_fd=numbers,
    screen_fd=numbers,
)


@briefly
@given(orders)
def test_an_order_arrives_as_it_was_sent(order: LocalOrder) -> None:
    line = json.dumps(order_to_json(order))
    assert line.isascii()
    assert "\n" not in line
    assert order_from_json(json.loads(line)) == order


def test_a_place_of_a_later_release_is_read_as_far_as_it_is_known() -> None:
    order = make_order(SPEC, "/runs/r")
    sent = order_to_json(order)
    assert order_from_json({**sent, "place": {"run_dir": "/runs/r", "colour": "blue"}}) == order


@pytest.mark.parametrize("value", [None, {}, {"schemaVersion": 1, "place": {"run_dir": "/runs/r"}}])
def test_what_is_no_specification_is_no_order(value: object) -> None:
    with pytest.raises(ValueError, match="not a run specification of this version"):
        order_from_json(value)
