"""What a call used, as the host adds it up."""

from __future__ import annotations

from pi_subagents.core.usage import Usage
from pi_subagents.faces.bridge.calls import usage_for_pi


def test_pi_gets_every_part_of_a_cost_though_only_the_whole_is_known() -> None:
    assert usage_for_pi(Usage(1, 2, 3, 4, 10, 0.5)) == {
        "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5},
    }  # fmt: skip
