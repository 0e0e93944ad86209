"""When it is said that a run goes on beyond its time-out."""

from __future__ import annotations

import pytest

from pi_subagents.core import messages
from pi_subagents.core.limits.base import Announce
from pi_subagents.core.limits.extension import ExtensionNotice
from pi_subagents.core.run.spec import RunLimits

GOES_ON = "past its time-out of 2s, goes on while it is active (until it is idle for 30s, at most 1h more)"


def test_it_is_said_once_at_the_time_out() -> None:
    limit = ExtensionNotice(RunLimits(timeout_s=2, extend_debounce_s=30, extend_max_s=3600), 1000)
    assert limit.deadline() == 1002
    limit.saw(None, 1001)
    assert [limit.verdict(now) for now in (1001.9, 1002, 1032)] == [None, Announce(GOES_ON), None]
    assert limit.deadline() is None


@pytest.mark.parametrize(
    ("timeout_s", "debounce_s", "most_s"), [(None, 30, 3600), (2, 0, 3600), (2, 30, 0)]
)
def test_nothing_is_said_where_a_time_out_ends_the_run_or_there_is_none(
    timeout_s: float | None, debounce_s: float, most_s: float
) -> None:
    wanted = RunLimits(timeout_s=timeout_s, extend_debounce_s=debounce_s, extend_max_s=most_s)
    limit = ExtensionNotice(wanted, 1000)
    assert (limit.deadline(), limit.verdict(1e9)) == (None, None)


def test_the_note_at_the_end_names_both_times() -> None:
    assert messages.note_extended(32.9, 2) == (
        "Ran 32s: the time-out of 2s was extended while it was active."
    )
    assert messages.note_extended(7200, 90).startswith("Ran 2h: the time-out of 90s")
