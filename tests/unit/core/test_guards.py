from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, json_objects, thoroughly

from pi_subagents.core.events import ToolCall
from pi_subagents.core.guards import (
    ASK_GRACE_S,
    SETTLED_GRACE_S,
    STOP_GRACE_S,
    LoopGuard,
    Rung,
    StopLadder,
    TimeoutGuard,
    call_signature,
)


def guard(
    timeout: float | None = 100, debounce: float = 30, max_extension: float = 3600
) -> TimeoutGuard:
    return TimeoutGuard(
        started=1000, timeout_s=timeout, debounce_s=debounce, max_extension_s=max_extension
    )


@pytest.mark.parametrize(
    ("case", "timeout", "debounce", "most", "events", "deadline"),
    [
        ("silent from the start: idle timer begins at the time-out", 100, 30, 3600, [], 1130),
        ("an early event changes nothing", 100, 30, 3600, [1001], 1130),
        ("an event just before the time-out changes nothing", 100, 30, 3600, [1099.5], 1130),
        ("an event during the extension restarts it", 100, 30, 3600, [1110], 1140),
        ("every event restarts it", 100, 30, 3600, [1110, 1139, 1168], 1198),
        ("a debounce of 0 stops at once", 100, 0, 3600, [1099, 1110], 1100),
        ("the extension is bounded as a whole", 100, 30, 50, [1110, 1135, 1149], 1150),
        ("a bound below the debounce counts", 100, 30, 10, [], 1110),
        ("no extension at all", 100, 30, 0, [1099], 1100),
        ("without a time-out there is no deadline", None, 30, 3600, [9999], None),
    ],
)
def test_the_moment_a_run_times_out(
    case: str,
    timeout: float | None,
    debounce: float,
    most: float,
    events: list[float],
    deadline: float | None,
) -> None:
    machine = guard(timeout, debounce, most)
    for moment in events:
        assert not machine.expired(moment) or debounce == 0
        machine.saw_event(moment)
    assert machine.deadline() == deadline
    if deadline is None:
        assert not machine.expired(float("inf"))
    else:
        assert (machine.expired(deadline - 0.001), machine.expired(deadline)) == (False, True)


@briefly
@given(st.floats(1, 1000), st.floats(0, 300), st.floats(0, 3600), st.lists(st.floats(0, 5000)))
def test_a_run_never_ends_before_its_time_out_nor_after_its_whole_extension(
    timeout: float, debounce: float, most: float, moments: list[float]
) -> None:
    machine = guard(timeout, debounce, most)
    for moment in sorted(moments):
        machine.saw_event(1000 + moment)
        deadline = machine.deadline()
        assert deadline is not None
        assert 1000 + timeout <= deadline <= 1000 + timeout + most


def call(name: str = "edit", **arguments: object) -> ToolCall:
    return ToolCall("", name, arguments)


def loops_at(limit: int, calls: list[ToolCall]) -> int | None:
    """Return the number of the call that completes a loop."""
    machine = LoopGuard(limit)
    return next((n for n, one in enumerate(calls, 1) if machine.saw_call(one)), None)


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


def test_a_limit_of_zero_switches_the_guard_off_and_of_one_takes_the_first_call() -> None:
    assert loops_at(0, [call()] * 100) is None
    assert loops_at(1, [call()]) == 1


@briefly
@given(json_objects)
def test_the_signature_of_any_arguments_can_be_taken(arguments: dict[str, object]) -> None:
    backwards = dict(reversed(arguments.items()))
    assert call_signature(call(a=arguments)) == call_signature(call(a=backwards))


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
