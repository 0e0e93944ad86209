"""How long a call may wait, whatever it asks for."""

from __future__ import annotations

import pytest

from pi_subagents.core import tool_defs
from pi_subagents.faces.mcp_server.calls import Calls


@pytest.mark.parametrize(
    ("tool", "asked", "within_s", "waits"),
    [
        (tool_defs.STEER, {}, 50, 30),
        (tool_defs.STEER, {}, 5, 5),
        (tool_defs.STEER, {"waitSeconds": None}, 5, 5),
        (tool_defs.STEER, {"waitSeconds": 0}, 5, 0),
        (tool_defs.STEER, {"waitSeconds": 60}, 50, 50),
        (tool_defs.STEER, {"waitSeconds": "x"}, 5, "x"),  # which the tool refuses
        (tool_defs.STEER, {}, None, None),
        (tool_defs.GET_OUTPUT, {}, 5, None),
        (tool_defs.GET_OUTPUT, {"waitSeconds": 60}, 50, 50),
    ],
)
def test_no_call_waits_longer_than_its_host_may_be_kept_waiting(
    tool: str, asked: dict[str, object], within_s: float | None, waits: object
) -> None:
    assert Calls({}, within_s)._bounded(tool, asked).get("waitSeconds") == waits
