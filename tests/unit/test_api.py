"""The refusals that come before anything is looked up or started."""

import sys
from pathlib import Path

import pytest

from pi_subagents import Task, delegate, errors
from pi_subagents.api import call_tool

TASKS = [{"name": "a", "prompt": "b"}]


async def test_a_sub_agent_may_not_delegate(tmp_path: Path) -> None:
    with pytest.raises(errors.NestedDelegation):
        await delegate([Task("a", "b")], cwd=tmp_path, env={"PI_SUBAGENTS_CHILD": "1"})
    assert list(tmp_path.iterdir()) == []


async def test_a_refusal_is_a_value_for_whoever_calls_a_tool(tmp_path: Path) -> None:
    answer = await call_tool(
        "delegate_to_subagents", {"tasks": TASKS}, cwd=tmp_path, env={"PI_SUBAGENTS_CHILD": "1"}
    )
    assert answer == {
        "content": [{"type": "text", "text": str(errors.NestedDelegation())}],
        "details": {"isError": True},
        "isError": True,
    }
    assert list(tmp_path.iterdir()) == []


async def test_windows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(errors.PlatformNotSupported):
        await delegate([Task("a", "b")], cwd=tmp_path, env={})


async def test_an_unknown_tool_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    answer = await call_tool("nonsense", {}, cwd=tmp_path, env={"HOME": str(tmp_path)})
    assert answer["isError"] is True
    assert str(answer["content"]).startswith(
        "[{'type': 'text', 'text': 'Unknown tool: \"nonsense\"."
    )
