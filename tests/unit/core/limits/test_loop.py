from __future__ import annotations

import pytest
from hypothesis import given
from tests.unit.core.given_values import briefly, json_objects

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.limits.loop import LoopLimit, call_signature
from pi_subagents.core.run.events import (
    Activity,
    AssistantMessage,
    ToolCall,
    ToolStarted,
    UserMessage,
)
from pi_subagents.core.run.outcome import Cause


def call(name: str = "edit", **arguments: object) -> ToolCall:
    return ToolCall("", name, arguments)


def loops_at(limit: int, calls: list[ToolCall]) -> int | None:
    """Return the number of the call that completes a loop."""
    machine = LoopLimit(limit)
    for number, one in enumerate(calls, 1):
        machine.saw(ToolStarted(one), 0.0)
        if machine.verdict(0.0) == EndRun(Cause.LOOPING):
            return number
        assert machine.verdict(0.0) is None
    return None


def test_five_identical_calls_are_a_loop_at_the_fifth() -> None:
    assert loops_at(5, [call(path="a")] * 9) == 5
    assert loops_at(5, [call(path="a")] * 4) is None


def test_the_ids_of_calls_do_not_matter() -> None:
    assert loops_at(3, [ToolCall(f"call-{n}", "ls", {}) for n in range(3)]) == 3


def test_five_different_edits_of_one_file_are_no_loop() -> None:
    """The reference kept only the keys of the top level, and killed a worker at its fifth edit."""
    edits = [call(path="a", edits=[{"oldText": str(n), "newText": "x"}]) for n in range(5)]
    assert loops_at(5, edits) is None


def test_the_same_arguments_in_another_order_are_the_same_call() -> None:
    one = call(path="a", edits=[{"oldText": "1", "newText": "2"}])
    other = ToolCall("", "edit", {"edits": [{"newText": "2", "oldText": "1"}], "path": "a"})
    assert loops_at(2, [one, other]) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (call("read", path="a"), call("edit", path="a")),
        (call(path="a"), call(path="b")),
        (call(deep={"x": {"y": [1]}}), call(deep={"x": {"y": [2]}})),
        (call(n=1), call(n="1")),
        (call(n=1), call(n=True)),
        (call(n=None), call()),
        (call(), ToolCall("", "edit", None)),
        (call(items=[1, 2]), call(items=[2, 1])),
    ],
)
def test_a_difference_at_any_depth_is_a_difference(one: ToolCall, other: ToolCall) -> None:
    assert call_signature(one) != call_signature(other)
    assert loops_at(2, [one, other]) is None


def test_calls_whose_arguments_are_not_known_are_no_loop() -> None:
    """Nested too deeply to be taken in, each may ask for something else."""
    assert loops_at(2, [ToolCall("", "bash", None)] * 9) is None


def test_another_call_in_between_begins_the_count_anew() -> None:
    same, other = call(path="a"), call(path="b")
    assert loops_at(3, [same, same, other, same, same]) is None
    assert loops_at(3, [same, same, other, same, same, same]) == 6


def test_two_calls_in_turn_are_no_loop() -> None:
    assert loops_at(2, [call(path="ab"[n % 2]) for n in range(20)]) is None


def test_a_limit_of_zero_switches_the_limit_off_and_of_one_takes_the_first_call() -> None:
    assert loops_at(0, [call()] * 100) is None
    assert loops_at(1, [call()]) == 1


@briefly
@given(json_objects)
def test_the_signature_of_any_arguments_can_be_taken(arguments: dict[str, object]) -> None:
    backwards = dict(reversed(arguments.items()))
    assert call_signature(call(a=arguments)) == call_signature(call(a=backwards))


def test_the_calls_that_an_answer_announces_count_one_by_one() -> None:
    machine = LoopLimit(3)
    machine.saw(AssistantMessage("", (call(path="a"), call(path="a"))), 0.0)
    assert machine.verdict(0.0) is None
    machine.saw(AssistantMessage("", (call(path="a"),)), 0.0)
    assert machine.verdict(0.0) == EndRun(Cause.LOOPING)


def test_whatever_is_no_call_neither_counts_nor_begins_the_count_anew() -> None:
    machine = LoopLimit(2)
    machine.saw(ToolStarted(call(path="a")), 0.0)
    for event in (None, Activity("x"), AssistantMessage("thinking")):
        machine.saw(event, 0.0)
    assert machine.verdict(0.0) is None
    machine.saw(ToolStarted(call(path="a")), 0.0)
    assert machine.verdict(0.0) == EndRun(Cause.LOOPING)


def test_who_is_asked_again_may_say_the_same_again() -> None:
    machine = LoopLimit(2)
    for _ in range(3):
        machine.saw(UserMessage("Again."), 0.0)
        machine.saw(ToolStarted(call("submit_answer", n=1)), 0.0)
        assert machine.verdict(0.0) is None
    machine.saw(ToolStarted(call("submit_answer", n=1)), 0.0)
    assert machine.verdict(0.0) == EndRun(Cause.LOOPING)
