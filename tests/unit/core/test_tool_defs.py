from __future__ import annotations

import json

from pi_subagents.core.request import parse_delegate
from pi_subagents.core.tool_defs import TOOLS


def test_the_tools_we_offer() -> None:
    assert [tool.name for tool in TOOLS] == [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
        "subagent",
        "background_agent",
        "background_agent_status",
        "background_agent_stop",
        "steer_subagent",
    ]


def test_what_a_model_has_to_read_of_all_tools_is_short() -> None:
    """1,500 tokens; of English and JSON a token is three characters and more."""
    told = [
        {"name": t.name, "description": t.description, "parameters": t.parameters} for t in TOOLS
    ]
    assert len(json.dumps(told, separators=(",", ":"))) < 1500 * 3


def test_the_parameters_of_every_tool_and_which_are_required() -> None:
    told = {
        tool.name: (
            {name: field["type"] for name, field in tool.parameters["properties"].items()},  # type: ignore[attr-defined]  # a schema is plain JSON
            tool.parameters.get("required", []),
        )
        for tool in TOOLS
    }
    slices = dict.fromkeys(("waitSeconds", "offset", "limit", "tail"), "number")
    preset_task = dict.fromkeys(("preset", "task", "model", "cwd"), "string")
    assert told == {
        "delegate_to_subagents": ({"tasks": "array", "profile": "string"}, ["tasks"]),
        "get_subagent_output": ({"sessionId": "string", **slices}, ["sessionId"]),
        "get_subagent_session": ({"sessionId": "string"}, ["sessionId"]),
        "list_subagent_profiles": ({}, []),
        "subagent": ({**preset_task, "tasks": "array"}, []),
        "background_agent": (preset_task, ["preset", "task"]),
        "background_agent_status": (
            {"runId": "string", "includeCompleted": "boolean", "waitSeconds": "number"},
            [],
        ),
        "background_agent_stop": ({"runId": "string"}, []),
        "steer_subagent": (
            {"sessionId": "string", "message": "string", "waitSeconds": "number"},
            ["sessionId", "message"],
        ),
    }


def test_every_schema_is_plain_json() -> None:
    for tool in TOOLS:
        assert json.loads(json.dumps(tool.parameters)) == tool.parameters
        assert tool.parameters["type"] == "object"
        assert tool.description.endswith(".")


def test_the_fields_of_the_schema_are_those_the_parser_takes() -> None:
    tool = TOOLS[0]
    task = tool.parameters["properties"]["tasks"]["items"]  # type: ignore[index]  # what hosts get is plain JSON
    assert task["required"] == ["name", "prompt"]
    values: dict[str, object] = {"string": "/x", "number": 5, "array": ["notes.txt"]}
    example = {name: values[field["type"]] for name, field in task["properties"].items()}
    parse_delegate({"tasks": [example]})
    parse_delegate({"tasks": [{name: example[name] for name in task["required"]}]})
