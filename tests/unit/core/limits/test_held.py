"""The limits of a run on its own clock, which stands still while it waits for somebody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.limits.held import HeldLimits
from pi_subagents.core.limits.table import limits_of
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause
from pi_subagents.core.run.spec import RunLimits

TIMED_OUT = [EndRun(Cause.TIMED_OUT)]


def limits() -> HeldLimits:
    """Return those of a run that began at 1000 and has 100 seconds."""
    wanted = RunLimits(timeout_s=100, extend_debounce_s=0)
    return HeldLimits(limits_of(wanted, 1000, can_steer=False))


def test_without_a_hold_the_clock_is_everybodys() -> None:
    held = limits()
    assert held.deadline() == 1100
    assert list(held.verdicts(1099)) == []
    assert list(held.verdicts(1100)) == TIMED_OUT


def test_while_it_is_held_no_time_passes_and_nothing_is_due() -> None:
    held = limits()
    held.hold("question", 1040)
    assert held.deadline() is None
    assert list(held.verdicts(9999)) == []


def test_a_released_run_has_the_time_that_it_had_left() -> None:
    held = limits()
    held.hold("question", 1040)
    held.release("question", 5040)
    assert held.deadline() == 5100
    assert list(held.verdicts(5099)) == []
    assert list(held.verdicts(5100)) == TIMED_OUT


def test_it_goes_on_when_the_last_reason_is_gone() -> None:
    held = limits()
    held.hold("question", 1010)
    held.hold("limit", 1020)
    held.release("question", 1030)
    assert held.deadline() is None
    held.release("limit", 1060)
    assert held.deadline() == 1150


def test_a_reason_that_is_given_twice_is_released_once() -> None:
    held = limits()
    held.hold("question", 1010)
    held.hold("question", 1020)
    held.release("question", 1030)
    assert held.deadline() == 1120


def test_a_release_without_a_hold_changes_nothing() -> None:
    held = limits()
    held.release("question", 1050)
    assert held.deadline() == 1100


def test_what_a_child_does_while_it_is_held_counts_as_done_then() -> None:
    wanted = RunLimits(timeout_s=100, extend_debounce_s=30)
    held = HeldLimits(limits_of(wanted, 1000, can_steer=False))
    held.hold("question", 1090)
    held.saw(ev.Activity("message_update"), 2000)
    held.release("question", 3090)
    assert held.deadline() == 3100  # then the idle timer begins, as if nothing had been


@briefly
@given(st.lists(st.floats(0, 1000), max_size=8))
def test_a_run_has_its_whole_time_however_often_it_waits(pauses: list[float]) -> None:
    held, now = limits(), 1000.0
    for pause in pauses:
        held.hold("question", now)
        now += pause
        held.release("question", now)
    deadline = held.deadline()
    assert deadline is not None
    assert abs(deadline - (now + 100)) < 1e-6


def test_while_a_child_waits_to_ask_its_model_again_no_time_passes() -> None:
    held = limits()
    held.saw(ev.Retrying(1, 3, 50_000, "429"), 1040)
    assert held.deadline() == 1090, "then it asks again"
    held.saw(None, 1041)  # of its stream; it still waits
    assert list(held.verdicts(1099)) == []
    assert held.deadline() == 1150
    assert list(held.verdicts(1150)) == TIMED_OUT


def test_a_child_that_asks_its_model_again_sooner_goes_on_sooner() -> None:
    held = limits()
    held.saw(ev.Retrying(1, 3, 50_000, "429"), 1040)
    held.saw(ev.Limited("acme"), 1041)
    held.saw(ev.AssistantMessage("Here I am."), 1050)
    assert held.deadline() == 1110


def test_a_wait_of_its_own_within_another_one_counts_once() -> None:
    held = limits()
    held.hold("question", 1010)
    held.saw(ev.Retrying(1, 3, 20_000, "429"), 1020)
    assert list(held.verdicts(1050)) == []
    held.release("question", 1060)
    assert held.deadline() == 1150
