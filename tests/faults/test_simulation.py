"""The scheduler and its limits under a jumping clock (10,000 seeds in `make soak`)."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.faults.simulation import simulate

from pi_subagents.core import messages


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_every_task_reaches_one_end_whatever_the_clock_does(first: int) -> None:
    ends: Counter[str] = Counter()
    for seed in range(first, first + 50):
        ends += simulate(seed)
    # It is no proof if nothing of note ever happens in there.
    for kind in (
        "completed",
        messages.LOOP_DETECTED,
        messages.STOPPED_ON_REQUEST,
        messages.SPAWN_FAILED,
        messages.timed_out(1),
        "no such cwd",
        "429",
    ):
        assert ends[kind] > 2, (kind, ends)
