from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from tests.unit.core.given_values import briefly, json_values, thoroughly, usages

from pi_subagents.core.usage import MOST, Usage, usage_from_json, usage_to_json


def test_the_usage_of_pi() -> None:
    raw = {
        "input": 100, "output": 20, "cacheRead": 7, "cacheWrite": 3, "reasoning": 5,
        "totalTokens": 130, "cost": {"input": 1, "total": 1.25},
    }  # fmt: skip
    assert usage_from_json(raw) == Usage(100, 20, 7, 3, 130, 1.25)


@pytest.mark.parametrize("value", [None, [], 7, "x", {}, {"input": None, "cost": "1"}])
def test_what_is_missing_or_malformed_counts_as_nothing(value: object) -> None:
    assert usage_from_json(value) == Usage()


@pytest.mark.parametrize("number", [-1, True, math.nan, math.inf, "5"])
def test_numbers_that_count_nothing(number: object) -> None:
    assert usage_from_json({"input": number, "cost": number}) == Usage()


def test_a_plain_number_is_a_cost_too() -> None:
    assert usage_from_json({"cost": 2, "input": 1.9}) == Usage(input=1, cost=2.0)


@briefly
@given(usages, usages)
def test_usage_is_added_field_by_field(one: Usage, two: Usage) -> None:
    assert one + two == Usage(
        one.input + two.input,
        one.output + two.output,
        one.cache_read + two.cache_read,
        one.cache_write + two.cache_write,
        one.total_tokens + two.total_tokens,
        one.cost + two.cost,
    )


@pytest.mark.parametrize("number", [10**12, 10**19, 1.7e308, 10**400])
def test_what_nobody_can_use_counts_as_the_most_that_there_is_room_for(number: float) -> None:
    names = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost")
    much = usage_from_json(dict.fromkeys(names, number))
    assert much == Usage(MOST, MOST, MOST, MOST, MOST, float(MOST))
    assert much + much == much
    assert usage_from_json(json.loads(json.dumps(usage_to_json(much)))) == much


@briefly
@given(usages)
def test_what_is_written_can_be_read_back(usage: Usage) -> None:
    assert usage_from_json(json.loads(json.dumps(usage_to_json(usage)))) == usage


@thoroughly
@given(json_values)
def test_reading_is_total(value: object) -> None:
    usage_from_json(value)
    usage_from_json({"input": value, "cost": value})


def test_a_cost_is_billed_only_if_every_part_of_it_is() -> None:
    billed = usage_from_json({"cost": {"total": 1.5, "totalFromProvider": True}})
    reckoned = usage_from_json({"cost": {"total": 0.5, "totalFromProvider": False}})
    assert billed == Usage(cost=1.5, cost_is_billed=True)
    assert reckoned == Usage(cost=0.5)
    assert billed + billed == Usage(cost=3.0, cost_is_billed=True)
    assert billed + reckoned == Usage(cost=2.0)
    assert Usage() + billed == Usage(input=0) + billed == billed, "what is free changes nothing"
    assert Usage() + Usage() == Usage()
    assert usage_from_json(usage_to_json(billed)) == billed
    assert usage_from_json({"cost": {"total": 0, "totalFromProvider": True}}) == Usage()
