"""When a child is told to finish with what it has."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.core.run_spec import RunSpec
from pi_subagents.procs.steering import wrap_up_moment


def spec(**fields: Any) -> RunSpec:
    usual: dict[str, Any] = {"mode": "rpc", "timeout_s": 60, "wrap_up_s": 10}
    return RunSpec("run", "session", "name", "/runs/run", ("pi",), "/", **{**usual, **fields})


def test_the_moment_is_so_long_before_the_time_out() -> None:
    assert wrap_up_moment(spec(), started=1000) == 1050


@pytest.mark.parametrize(
    "fields",
    [
        {"mode": "json"},  # it could not be told, and would be a moment that never passes
        {"timeout_s": None},
        {"wrap_up_s": 0},
        {"wrap_up_s": 60},
        {"wrap_up_s": 61},
    ],
)
def test_there_is_none_where_a_child_cannot_be_told_or_has_no_time(fields: dict[str, Any]) -> None:
    assert wrap_up_moment(spec(**fields), started=1000) is None
