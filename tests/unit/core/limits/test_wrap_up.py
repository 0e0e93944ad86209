"""When a child is told to finish with what it has."""

from __future__ import annotations

import pytest

from pi_subagents.core import messages
from pi_subagents.core.limits.base import TellChild
from pi_subagents.core.limits.table import limits_of
from pi_subagents.core.limits.wrap_up import WrapUpLimit
from pi_subagents.core.run.spec import RunLimits


def test_the_child_is_told_once_so_long_before_the_time_out() -> None:
    limit = WrapUpLimit(started=1000, timeout_s=60, before_s=10)
    assert limit.deadline() == 1050
    limit.saw(None, 1049)
    said = [limit.verdict(now) for now in (1049.9, 1050, 1050, 1059)]
    assert said == [None, TellChild("wrap-up", messages.WRAP_UP), None, None]
    assert limit.deadline() is None


@pytest.mark.parametrize(("timeout_s", "before_s"), [(None, 10), (60, 0), (60, 60), (60, 61)])
def test_nothing_is_said_where_there_is_no_such_moment(
    timeout_s: float | None, before_s: float
) -> None:
    limit = WrapUpLimit(started=1000, timeout_s=timeout_s, before_s=before_s)
    assert (limit.deadline(), limit.verdict(1e9)) == (None, None)


@pytest.mark.parametrize(
    ("can_steer", "moments"), [(True, [1050, 1060, 1090]), (False, [1060, 1090])]
)
def test_a_child_that_cannot_be_told_anything_has_no_such_moment(
    can_steer: bool, moments: list[float]
) -> None:
    wanted = RunLimits(timeout_s=60, wrap_up_s=10)
    limits = limits_of(wanted, 1000, can_steer=can_steer)
    assert sorted(filter(None, (each.deadline() for each in limits))) == moments
