"""The scheduler and its guards under a jumping clock (10,000 seeds in `make soak`)."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.faults.simulation import simulate

from pi_subagents import errors


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_every_task_reaches_one_end_whatever_the_clock_does(first: int) -> None:
    ends: Counter[str] = Counter()
    for seed in range(first, first + 50):
        ends += simulate(seed)
    # It is no proof if nothing of note ever happens in there.
    for kind in (
        "completed",
        errors.LOOP_DETECTED,
        errors.STOPPED_ON_REQUEST,
        errors.SPAWN_FAILED,
        errors.timed_out(1),
        "no such cwd",
        "429",
    ):
        assert ends[kind] > 2, (kind, ends)
