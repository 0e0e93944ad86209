from __future__ import annotations

from typing import Any

from pi_subagents.core import tool_defs
from pi_subagents.core.pi_tools import tools_to_json


def told() -> list[Any]:
    tools = tools_to_json()["tools"]
    assert isinstance(tools, list)
    return tools


def test_pi_registers_every_tool_in_our_order() -> None:
    assert [tool["name"] for tool in told()] == [tool.name for tool in tool_defs.TOOLS]
    for one, ours in zip(told(), tool_defs.TOOLS, strict=True):
        assert (one["description"], one["parameters"]) == (ours.description, ours.parameters)


def test_those_that_take_a_model_are_those_of_the_second_system() -> None:
    needing = [tool["name"] for tool in told() if tool["needsModels"]]
    assert needing == [
        "subagent", "background_agent", "background_agent_status", "background_agent_stop",
    ]  # fmt: skip
    taking = [tool["name"] for tool in told() if "model" in tool["parameters"]["properties"]]
    assert taking == ["subagent", "background_agent"]
    model = told()[4]["parameters"]["properties"]["model"]
    assert model["type"] == "string"
    assert "enum" not in model
