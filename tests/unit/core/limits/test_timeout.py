from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.limits.timeout import TimeoutLimit
from pi_subagents.core.run.outcome import Cause


def ends(machine: TimeoutLimit, now: float) -> bool:
    """Tell whether the run must end; nothing else is ever said."""
    verdict = machine.verdict(now)
    assert verdict in (None, EndRun(Cause.TIMED_OUT))
    return verdict is not None


def limit(
    timeout: float | None = 100, debounce: float = 30, max_extension: float = 3600
) -> TimeoutLimit:
    return TimeoutLimit(
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
    machine = limit(timeout, debounce, most)
    for moment in events:
        assert not ends(machine, moment) or debounce == 0
        machine.saw(None, moment)
    assert machine.deadline() == deadline
    if deadline is None:
        assert not ends(machine, float("inf"))
    else:
        assert (ends(machine, deadline - 0.001), ends(machine, deadline)) == (False, True)


@briefly
@given(st.floats(1, 1000), st.floats(0, 300), st.floats(0, 3600), st.lists(st.floats(0, 5000)))
def test_a_run_never_ends_before_its_time_out_nor_after_its_whole_extension(
    timeout: float, debounce: float, most: float, moments: list[float]
) -> None:
    machine = limit(timeout, debounce, most)
    for moment in sorted(moments):
        machine.saw(None, 1000 + moment)
        deadline = machine.deadline()
        assert deadline is not None
        assert 1000 + timeout <= deadline <= 1000 + timeout + most
