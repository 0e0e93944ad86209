"""What may be spent, as people, models and programs write it."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, thoroughly

from pi_subagents.core.spending.budget import (
    Budget,
    Spending,
    parse_budget,
    reached,
    spending_of,
    tightest,
)
from pi_subagents.core.spending.price import cost_of, parse_prices
from pi_subagents.core.usage import Usage

budgets = st.builds(
    Budget,
    tokens=st.none() | st.integers(1, 10**12),
    cost=st.none() | st.floats(0.0001, 1e6).map(lambda each: round(each, 4)),
    turns=st.none() | st.integers(1, 10**6),
)


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ("200k", Budget(tokens=200_000)),
        ("200k tokens, $0.50, 20 turns", Budget(200_000, 0.5, 20)),
        (" 1.5M , $2 ", Budget(1_500_000, 2.0)),
        ({"tokens": "1.5M", "cost": "$0.50", "turns": "3"}, Budget(1_500_000, 0.5, 3)),
        ({"tokens": 7, "cost": 0.25}, Budget(7, 0.25)),
        ({"cost": "0.50", "turns": None}, Budget(cost=0.5)),
        ({}, Budget()),
        (Budget(turns=2), Budget(turns=2)),
    ],
)
def test_a_budget_is_read_as_it_is_written(given: object, budget: Budget) -> None:
    assert parse_budget(given) == budget


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (7, "must be an object with"),
        ({"token": 5}, "must be an object with"),
        ("5 apples", "must be an object with"),
        ("1k, 2k", "has two amounts of tokens"),
        ("", "`tokens` must be an amount above 0"),
        ("-5", "`tokens` must be an amount above 0"),
        ({"tokens": 0}, "`tokens` must be an amount above 0"),
        ({"tokens": True}, "`tokens` must be an amount above 0"),
        ({"tokens": 0.5}, "`tokens` must be an amount above 0"),
        ({"turns": "20x"}, "`turns` must be an amount above 0"),
        ({"cost": float("nan")}, "`cost` must be an amount above 0"),
        ({"cost": "1e999"}, "`cost` must be an amount above 0"),
    ],
)
def test_what_is_no_budget_is_refused_in_words(given: object, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        parse_budget(given)


@thoroughly
@given(json_values)
def test_anything_else_is_a_budget_or_refused(given: object) -> None:
    with suppress(ValueError):
        assert isinstance(parse_budget(given), Budget)


@thoroughly
@given(budgets.filter(bool))
def test_a_budget_is_read_back_from_its_text(budget: Budget) -> None:
    assert parse_budget(str(budget)) == budget


@thoroughly
@given(budgets, budgets)
def test_the_tightest_is_reached_where_one_of_them_is(one: Budget, two: Budget) -> None:
    both = tightest(one, two)
    for spent in (Spending(500, 0.5, 5), Spending(10**12, 1e6, 10**6)):
        assert bool(reached(both, spent)) == bool(reached(one, spent) or reached(two, spent))


def test_what_is_only_read_from_a_cache_does_not_count() -> None:
    usage = Usage(100, 20, cache_read=5000, cache_write=7, total_tokens=5127, cost=0.25)
    assert spending_of(usage, turns=1) == Spending(127, 0.25, 1)


PRICES = parse_prices({"local/big": {"input": 2, "output": 8, "cacheRead": 1}})


@pytest.mark.parametrize(
    ("usage", "model", "cost"),
    [
        (Usage(total_tokens=9, cost=0.5), "local/big", 0.5),
        (Usage(1_000_000, 500_000, 100_000, 10_000, 1_610_000), "local/big", 2 + 4 + 0.1 + 0.02),
        (Usage(1, 1, total_tokens=2), "local/small", None),
        (Usage(), "local/small", 0.0),
    ],
)
def test_a_price_counts_where_the_child_reports_no_cost(
    usage: Usage, model: str, cost: float | None
) -> None:
    assert cost_of(usage, model, PRICES) == (cost if cost is None else pytest.approx(cost))


@pytest.mark.parametrize(
    "given",
    [{"m": 3}, {"m": {"input": 1}}, {"m": {"input": 1, "output": -1}},
     {"m": {"input": 1, "output": "2"}}, {"m": {"input": 1, "output": 2, "reads": 3}}],
)  # fmt: skip
def test_prices_that_cannot_be_read_are_refused(given: object) -> None:
    with pytest.raises(ValueError, match="per million tokens"):
        parse_prices(given)
