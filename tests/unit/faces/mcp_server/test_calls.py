"""How long a call may wait, whatever it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.core.value import replace
from pi_subagents.faces.mcp_server.calls import McpCalls
from pi_subagents.service.tools import get_subagent_output, steer_subagent

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.mark.parametrize(
    ("tool", "asked", "within_s", "waits_s"),
    [
        (steer_subagent, {}, 50, 30),
        (steer_subagent, {}, 5, 5),
        (steer_subagent, {"waitSeconds": None}, 5, 5),
        (steer_subagent, {"waitSeconds": 0}, 5, 0),
        (steer_subagent, {"waitSeconds": 60}, 50, 50),
        (steer_subagent, {"waitSeconds": 4000}, 50, 50),
        (steer_subagent, {"waitSeconds": "x"}, 5, None),  # which the tool refuses
        (steer_subagent, {}, None, 30),
        (get_subagent_output, {}, 5, 0),
        (get_subagent_output, {"waitSeconds": None}, 5, 0),
        (get_subagent_output, {"waitSeconds": 60}, 50, 50),
    ],
)
async def test_no_call_waits_longer_than_its_host_may_be_kept_waiting(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    tool: ModuleType,
    asked: dict[str, object],
    within_s: float | None,
    waits_s: float | None,
) -> None:
    waited: list[float] = []

    async def run(request: Any, _options: object) -> dict[str, object]:
        waited.append(request.wait_s)
        details = {"status": "completed", "totalCharacters": 0}
        return {"content": [{"type": "text", "text": ""}], "details": details, "isError": False}

    async def report(_elapsed_s: float, _line: str) -> None:
        raise AssertionError("nothing is under way")

    monkeypatch.setattr(tool, "TOOL", replace(tool.TOOL, run=run))
    calls = McpCalls({"cwd": tmp_path, "env": {}}, within_s)
    message = {"message": "m"} if tool is steer_subagent else {}
    answer = await calls.answer(tool.TOOL, {"sessionId": "s", **message, **asked}, report)
    assert answer["isError"] is (waits_s is None)
    assert waited == ([] if waits_s is None else [waits_s])
    await calls.close()
