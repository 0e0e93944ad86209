from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.limits.ladder import (
    ASK_GRACE_S,
    SETTLED_GRACE_S,
    STOP_GRACE_S,
    Rung,
    StopLadder,
)


def test_the_ladder_asks_for_nothing_before_it_was_begun() -> None:
    ladder = StopLadder(5)
    assert (ladder.begun, ladder.deadline(), ladder.due(1e9)) == (False, None, Rung.WAIT)


def test_term_once_then_kill_once_after_the_grace() -> None:
    ladder = StopLadder(5)
    ladder.begin(100)
    assert (ladder.begun, ladder.deadline()) == (True, 100)
    asked = [ladder.due(now) for now in (100, 100, 104.9, 105, 105, 999)]
    wait = Rung.WAIT
    assert asked == [Rung.TERM, wait, wait, Rung.KILL, wait, wait]
    assert ladder.deadline() is None


def test_a_second_begin_does_not_prolong_the_grace() -> None:
    ladder = StopLadder(5)
    ladder.begin(100)
    assert ladder.due(100) is Rung.TERM
    ladder.begin(104)
    assert (ladder.deadline(), ladder.due(105)) == (105, Rung.KILL)


def test_force_skips_the_grace_and_the_polite_rung() -> None:
    ladder = StopLadder(5)
    ladder.force(100)
    assert (ladder.deadline(), ladder.due(100), ladder.due(200)) == (100, Rung.KILL, Rung.WAIT)


def test_force_during_the_grace_is_due_at_once() -> None:
    ladder = StopLadder(5)
    ladder.begin(100)
    assert ladder.due(100) is Rung.TERM
    ladder.force(101)
    assert (ladder.due(101), ladder.due(101), ladder.deadline()) == (Rung.KILL, Rung.WAIT, None)


def test_a_child_that_takes_commands_is_asked_before_it_gets_a_signal() -> None:
    ladder = StopLadder(5, ask_s=1)
    ladder.begin(100)
    asked = [ladder.due(now) for now in (100, 100, 100.9, 101, 101, 105.9, 106, 999)]
    wait = Rung.WAIT
    assert asked == [Rung.ASK, wait, wait, Rung.TERM, wait, wait, Rung.KILL, wait]
    assert ladder.deadline() is None


def test_a_child_that_did_as_it_was_asked_is_waited_for_no_longer() -> None:
    ladder = StopLadder(5, ask_s=1)
    ladder.begin(100)
    assert ladder.due(100) is Rung.ASK
    ladder.hurry(100.2)
    assert (ladder.deadline(), ladder.due(100.2)) == (100.2, Rung.TERM)
    assert ladder.deadline() == 105.2


def test_there_is_nothing_to_hurry_before_the_asking_or_after_term() -> None:
    ladder = StopLadder(5, ask_s=1)
    ladder.hurry(99)
    assert (ladder.begun, ladder.deadline()) == (False, None)
    ladder.begin(100)
    ladder.hurry(100)
    assert ladder.due(100) is Rung.ASK
    assert ladder.due(101) is Rung.TERM
    ladder.hurry(102)
    assert (ladder.deadline(), ladder.due(102)) == (106, Rung.WAIT)
    assert ladder.due(106) is Rung.KILL
    ladder.hurry(107)
    assert ladder.deadline() is None


def test_force_skips_the_asking_too() -> None:
    ladder = StopLadder(5, ask_s=1)
    ladder.begin(100)
    assert ladder.due(100) is Rung.ASK
    ladder.force(100.5)
    ladder.hurry(100.5)
    assert [ladder.due(100.5), ladder.due(999)] == [Rung.KILL, Rung.WAIT]


def test_the_graces_are_those_of_the_design() -> None:
    assert (ASK_GRACE_S, STOP_GRACE_S, SETTLED_GRACE_S) == (1, 5, 5)


steps = st.lists(st.tuples(st.sampled_from(["begin", "force", "hurry", "due"]), st.floats(0, 4)))


@thoroughly
@given(steps, st.floats(0, 10), st.sampled_from([0.0, 1.0]))
def test_kill_never_comes_before_the_grace_unless_forced_and_each_rung_once(
    script: list[tuple[str, float]], grace: float, ask: float
) -> None:
    ladder, now = StopLadder(grace, ask), 0.0
    begun: float | None = None
    forced = hurried = False
    taken: list[Rung] = []
    for action, pause in script:
        now += pause
        if action == "due":
            rung = ladder.due(now)
            if rung is not Rung.WAIT:
                assert begun is not None
                taken.append(rung)
            if rung is Rung.TERM:
                assert begun is not None
                assert hurried or now >= begun + ask
            if rung is Rung.KILL:
                assert begun is not None
                assert forced or now >= begun + grace + (0 if hurried else ask)
        elif action == "hurry":
            hurried = hurried or taken == [Rung.ASK]
            ladder.hurry(now)
        else:
            begun = now if begun is None else begun
            forced = forced or action == "force"
            ladder.begin(now) if action == "begin" else ladder.force(now)
    ladder_of = [*([Rung.ASK] if ask else []), Rung.TERM, Rung.KILL]
    whole = taken == ladder_of[: len(taken)]
    assert whole or (forced and taken == [*ladder_of[: len(taken) - 1], Rung.KILL])
