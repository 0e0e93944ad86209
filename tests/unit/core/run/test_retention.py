from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.run.retention import (
    APART_S,
    DAY_MS,
    Kept,
    Look,
    Removal,
    Watch,
    choose_removals,
    watched,
)

NOW = 1_700_000_000_000

kept_runs = st.lists(
    st.tuples(
        st.text("0123456789abcdef", min_size=4, max_size=4),
        st.none() | st.integers(NOW - 100 * DAY_MS, NOW + DAY_MS),
        st.integers(0, 1000),
    ),
    max_size=12,
    unique_by=lambda run: run[0],
)
ages = st.sampled_from([0, 0.5, 7, 30]) | st.floats(0, 200)
sizes = st.sampled_from([0, 0.5, 1, 500]) | st.integers(0, 5000)


def run(run_id: str, *, days_ago: float | None, size: int = 10) -> Kept:
    ended = None if days_ago is None else int(NOW - days_ago * DAY_MS)
    return run_id, ended, size


def goes(run: Kept, reason: Literal["age", "space"]) -> Removal:
    run_id, ended_ms, size = run
    assert ended_ms is not None
    return Removal(run_id, ended_ms, size, reason)


def kept(removal: Removal) -> Kept:
    return removal.run_id, removal.ended_ms, removal.size


def chosen(*runs: Kept, days: float = 0, size: float = 0) -> list[Removal]:
    return choose_removals(runs, now_ms=NOW, max_age_days=days, max_bytes=size)


def test_what_ended_too_long_ago_goes_oldest_first() -> None:
    old, older, young = run("a", days_ago=31), run("b", days_ago=40), run("c", days_ago=29)
    assert chosen(old, young, older, days=30) == [goes(older, "age"), goes(old, "age")]


def test_of_too_much_the_oldest_go_until_the_rest_fits() -> None:
    runs = [run(name, days_ago=days) for name, days in (("a", 1), ("b", 4), ("c", 3), ("d", 2))]
    assert chosen(*runs, size=20) == [goes(runs[1], "space"), goes(runs[2], "space")]
    assert chosen(*runs, size=40) == []


def test_what_goes_for_its_age_makes_room() -> None:
    old, middle, young = run("a", days_ago=50), run("b", days_ago=2), run("c", days_ago=1)
    assert chosen(old, middle, young, days=30, size=20) == [goes(old, "age")]


def test_a_run_that_is_not_over_takes_room_but_never_goes() -> None:
    going, done = run("a", days_ago=None, size=1000), run("b", days_ago=0)
    assert chosen(going, done, days=1, size=500) == [goes(done, "space")]
    assert chosen(going, days=1, size=500) == []


def test_limits_of_zero_do_not_limit() -> None:
    assert chosen(run("a", days_ago=10_000, size=10**15)) == []


def test_a_tiny_limit_is_a_limit() -> None:
    ended = run("a", days_ago=1)
    assert chosen(ended, size=0.001) == [goes(ended, "space")]


@thoroughly
@given(kept_runs, ages, sizes)
def test_nothing_unfinished_or_unknown_is_chosen_and_nothing_twice(
    runs: list[Kept], days: float, size: float
) -> None:
    removed = list(map(kept, chosen(*runs, days=days, size=size)))
    assert [each for each in removed if each not in runs] == []
    assert len(set(removed)) == len(removed)


@thoroughly
@given(kept_runs, ages, sizes)
def test_afterwards_the_limits_hold_or_only_unfinished_runs_are_left(
    runs: list[Kept], days: float, size: float
) -> None:
    removed = set(map(kept, chosen(*runs, days=days, size=size)))
    left = [each for each in runs if each not in removed]
    ends = [ended for _, ended, _ in left if ended is not None]
    if days:
        assert [ended for ended in ends if ended < NOW - days * DAY_MS] == []
    if size and ends:
        assert sum(each for _, _, each in left) <= size


@thoroughly
@given(kept_runs, ages, sizes)
def test_the_oldest_go_and_no_more_than_must(runs: list[Kept], days: float, size: float) -> None:
    removals = chosen(*runs, days=days, size=size)
    ends = [removal.ended_ms for removal in removals]
    left = set(runs) - set(map(kept, removals))
    kept_ends = [ended for _, ended, _ in left if ended is not None]
    assert ends == sorted(ends)
    assert max(ends, default=0) <= min(kept_ends, default=NOW + DAY_MS)
    # Without the last one that went for space, there still was too much.
    if removals and removals[-1].reason == "space":
        others = set(map(kept, removals[:-1]))
        assert sum(each[2] for each in runs if each not in others) > size


@thoroughly
@given(kept_runs, ages, sizes)
def test_a_second_look_finds_nothing_more(runs: list[Kept], days: float, size: float) -> None:
    removed = set(map(kept, chosen(*runs, days=days, size=size)))
    assert chosen(*(each for each in runs if each not in removed), days=days, size=size) == []


# By which time of day things are old


DAY_S = 86_400.0


def look(days: float, *, up_days: float | None = None, boot: str | None = "b") -> Look:
    """Return a look at NOW and so many days, on a machine that is up since day 0 unless told."""
    return Look(int(NOW + days * DAY_MS), boot, (days if up_days is None else up_days) * DAY_S)


def proven(*looks: Look) -> list[float | None]:
    """Return what each look proves, in days since NOW."""
    watch: Watch | None = None
    heard: list[float | None] = []
    for each in looks:
        watch, now_ms = watched(watch, each)
        heard.append(None if now_ms is None else (now_ms - NOW) / DAY_MS)
    return heard


def test_one_look_proves_nothing_and_two_a_day_apart_prove_the_first() -> None:
    assert proven(look(0), look(0.5), look(1), look(2)) == [None, None, 0, 1]


def test_a_jump_ahead_proves_nothing_until_it_has_stayed_for_a_day() -> None:
    jumped = [look(40 + days, up_days=days) for days in (1.5, 2, 2.5, 3)]
    assert proven(look(0), look(1), *jumped) == [None, 0, None, 1, None, 42]


def test_a_jump_that_is_corrected_never_counts() -> None:
    looks = [look(0), look(41, up_days=1), look(2, up_days=2), look(3, up_days=3)]
    assert proven(*looks) == [None, 0, 2, 2]


def test_looks_that_were_never_a_day_apart_prove_nothing_however_the_clock_is_set() -> None:
    looks = [look(day, up_days=0.01 * number) for number, day in enumerate(range(0, 400, 40))]
    assert proven(*looks) == [None] * 10


def test_after_a_restart_only_the_time_since_then_is_proven() -> None:
    starts = [
        look(0, up_days=0.3, boot="a"),
        look(1, up_days=0.3, boot="b"),
        look(41, up_days=0.4, boot="c"),
        look(3, up_days=0.3, boot="d"),
    ]
    assert proven(*starts) == [None, None, None, 0]


def test_where_only_the_time_of_day_is_known_that_has_to_do() -> None:
    assert proven(look(0, boot=None), look(0.5, boot=None), look(1, boot=None)) == [None, None, 0]


looks = st.lists(
    st.tuples(st.integers(-50, 50), st.floats(0, 3), st.booleans()), min_size=1, max_size=12
)


@thoroughly
@given(looks)
def test_what_is_proven_was_seen_at_two_looks_that_are_really_a_day_apart(
    steps: list[tuple[int, float, bool]],
) -> None:
    """Each step: what the clock says, how much time really passes, whether the machine restarts."""
    watch: Watch | None = None
    real_days, boot, up_days = 0.0, 0, 0.0
    seen: list[tuple[float, int]] = []
    for said_days, passed_days, restarts in steps:
        real_days += passed_days
        if restarts:
            boot, up_days = boot + 1, passed_days / 2
        else:
            up_days += passed_days
        now = Look(NOW + said_days * DAY_MS, str(boot), up_days * DAY_S)
        seen.append((real_days, now.now_ms))
        watch, now_ms = watched(watch, now)
        if now_ms is not None:
            apart = (real_days - min(when for when, heard in seen if heard == now_ms)) * DAY_S
            later = [heard for _, heard in seen[-1:]]
            assert now_ms <= min(later)
            assert apart >= 0
            assert any(
                (real_days - when) * DAY_S >= APART_S - 1e-3 and heard >= now_ms
                for when, heard in seen
            )
