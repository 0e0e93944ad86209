"""Which errors are limits of a provider, and until when: the words of providers as they were seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.limited import limit_in

AT_1_MARCH_NOON = 1_772_366_400_000


@pytest.mark.parametrize(
    ("text", "after_s", "until_ms"),
    [
        ('429 {"type":"error","error":{"type":"rate_limit_error","message":"..."}}', 0, 0),
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 1.242s.", 1.242, 0),
        ("Rate limit reached. Please try again in 1h2m3s.", 3723, 0),
        ("Too many requests, retry after 30 seconds", 30, 0),
        ("Too Many Requests (retry-after: 12)", 12, 0),
        ('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 0, 0),
        ('429 RESOURCE_EXHAUSTED {"retryDelay": "36s"}', 36, 0),
        ("You exceeded your quota, check your plan and billing. 429, retry in 36.6s", 36.6, 0),
        ("usage limit reached, resets at 2026-03-01 14:00:00.123+02:00", 0, AT_1_MARCH_NOON),
        ("The usage limit has been reached, resets in 2 hours and 5 minutes", 7500, 0),
        ('usage_limit_reached {"resets_in_seconds": 4711}', 4711, 0),
        ("Claude AI usage limit reached|1772366400", 0, AT_1_MARCH_NOON),
        ('usage limit {"resets_at":1772366400}', 0, AT_1_MARCH_NOON),
        ("usage limit reached, resets at 2026-03-01T12:00:00Z", 0, AT_1_MARCH_NOON),
        ("Your quota will reset after 5h", 18_000, 0),
    ],
)
def test_a_limit_is_known_by_what_providers_say(text: str, after_s: float, until_ms: int) -> None:
    found = limit_in(text, provider="acme")
    assert found == ev.Limited("acme", after_s, until_ms, text)


@pytest.mark.parametrize(
    "text",
    [
        "the model is gone",
        "400 prompt is too long: 210429 tokens > 200000 maximum",
        "connect ECONNREFUSED 127.0.0.1:14290",
        "429 insufficient_quota: check your plan and billing details",
        "Your credit balance is too low to access the API",
        "503 Service unavailable",
        "maximum context length limit reached",
    ],
)
def test_an_error_that_time_does_not_mend_is_none(text: str) -> None:
    assert limit_in(text) is None


@pytest.mark.parametrize(
    ("status", "until_ms", "is_limit"),
    [(429, 0, True), (529, 0, True), (503, 0, False), (503, 5, True), (500, 5, False)],
)
def test_a_status_counts_more_than_words(status: int, until_ms: int, *, is_limit: bool) -> None:
    assert (limit_in("no words", status=status, until_ms=until_ms) is not None) is is_limit


def test_a_time_that_nobody_would_wait_for_is_not_believed() -> None:
    assert limit_in(f"429, retry after {ev.LONGEST_LIMIT_S + 1} s") == ev.Limited(
        "", text=f"429, retry after {ev.LONGEST_LIMIT_S + 1} s"
    )
    assert limit_in("429 resets at 2026-99-99T12:00:00Z") is not None


@given(st.text(max_size=200))
def test_whatever_a_provider_says_is_read(text: str) -> None:
    found = limit_in(text, status=429)
    assert found is None or found.after_s >= 0
