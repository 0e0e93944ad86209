from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # has no types

from pi_subagents.core.preset.request import parse_status, parse_subagent
from pi_subagents.core.run.answering import parse_answer_request
from pi_subagents.core.run.steer import parse_steer_request
from pi_subagents.core.session.retrieval import parse_output_request, parse_session_request
from pi_subagents.core.task.request import parse_delegate
from pi_subagents.errors import InvalidRequest
from pi_subagents.service.tools.apply_subagent_changes import parse_apply
from pi_subagents.service.tools.offer import tokens
from pi_subagents.service.tools.registry import TOOLS, all_tools, find_tool

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_tools_we_offer() -> None:
    assert [tool.name for tool in all_tools()] == list(TOOLS)
    assert list(TOOLS) == [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
        "subagent",
        "background_agent",
        "background_agent_status",
        "background_agent_stop",
        "steer_subagent",
        "answer_subagent",
        "apply_subagent_changes",
    ]


def test_what_a_model_has_to_read_of_all_tools_is_short() -> None:
    """1,700 tokens of the 2,000 for all that a main model reads of us."""
    heard = [
        {"name": t.name, "description": t.description, "parameters": t.parameters}
        for t in all_tools()
    ]
    assert tokens(json.dumps(heard, separators=(",", ":"))) < 1700


def test_the_parameters_of_every_tool_and_which_are_required() -> None:
    heard = {
        tool.name: (
            {name: field["type"] for name, field in tool.parameters["properties"].items()},  # type: ignore[attr-defined]  # a schema is plain JSON
            tool.parameters.get("required", []),
        )
        for tool in all_tools()
    }
    part = {**dict.fromkeys(COUNTS, "integer"), "grep": "string", "regex": "boolean"}
    slices = {"waitSeconds": "number", **part}
    texts = dict.fromkeys(("preset", "task", "model", "engine", "cwd"), "string")
    preset_task = {**texts, "outputSchema": "object"}
    assert heard == {
        "delegate_to_subagents": (
            {"tasks": "array", "profile": "string", "budget": "object"},
            ["tasks"],
        ),
        "get_subagent_output": ({"sessionId": "string", **slices}, ["sessionId"]),
        "get_subagent_session": ({"sessionId": "string", **part}, ["sessionId"]),
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
        "answer_subagent": (
            {"sessionId": "string", "answer": "string"},
            ["sessionId", "answer"],
        ),
        "apply_subagent_changes": (
            {"runIds": "array", "check": "boolean", "passed": "boolean"},
            ["runIds"],
        ),
    }


SESSION = {"sessionId": "s"}
COUNTS = ("offset", "limit", "tail", "context")
TASK = {"name": "n", "prompt": "p"}
PRESET = {"preset": "p", "task": "t"}


TAKEN_FILES: list[object] = [
    "a", {"path": "a"}, {"path": "a", "start": 1, "end": 1}, {"path": "a", "start": 2},
    {"path": "a", "end": 2}, {"path": "a", "head": 1}, {"path": "a", "tail": 1},
    {"path": "a", "tail": 2.0},
]  # fmt: skip
REFUSED_FILES: list[object] = [
    1, None, [], {}, {"path": 1}, {"start": 1}, {"path": "a", "start": 0}, {"path": "a", "end": 0},
    {"path": "a", "head": 0}, {"path": "a", "tail": 0}, {"path": "a", "tail": 1.5},
    {"path": "a", "lines": 3},
]  # fmt: skip


def with_file(file: object) -> dict[str, object]:
    return {"tasks": [{**TASK, "files": [file]}]}


# At each limit: the tool, what is taken, and what lies beyond and is not.
LIMITS: list[tuple[str, list[dict[str, object]], list[dict[str, object]]]] = [
    ("delegate_to_subagents", [{"tasks": [TASK]}, {"tasks": [TASK] * 16}],
     [{"tasks": []}, {"tasks": [TASK] * 17}]),
    ("delegate_to_subagents", [{"tasks": [{**TASK, "timeout": t}]} for t in (1, 86_400)],
     [{"tasks": [{**TASK, "timeout": t}]} for t in (0, 0.5, 86_401)]),
    ("delegate_to_subagents", [with_file(file) for file in TAKEN_FILES],
     [with_file(file) for file in REFUSED_FILES]),
    ("subagent", [{"tasks": [PRESET]}, {"tasks": [PRESET] * 16}],
     [{"tasks": []}, {"tasks": [PRESET] * 17}]),
    ("get_subagent_output",
     [{**SESSION, key: most} for key in COUNTS for most in (0, 5.0, 10**9)],
     [{**SESSION, key: odd} for key in COUNTS for odd in (-1, 1.5)]),
    ("get_subagent_session",
     [{**SESSION, key: most} for key in COUNTS for most in (0, 10**9)],
     [{**SESSION, key: odd} for key in COUNTS for odd in (-1, 1.5)]),
    ("get_subagent_output", [{**SESSION, "waitSeconds": s} for s in (0, 3600)],
     [{**SESSION, "waitSeconds": s} for s in (-1, 3601)]),
    ("background_agent_status", [{"waitSeconds": s} for s in (0, 3600)],
     [{"waitSeconds": s} for s in (-1, 3601)]),
    ("steer_subagent", [{**SESSION, "message": "m", "waitSeconds": s} for s in (0, 3600)],
     [{**SESSION, "message": "m", "waitSeconds": s} for s in (-1, 3601)]),
    ("apply_subagent_changes", [{"runIds": ["r"]}, {"runIds": ["r"], "check": True}],
     [{}, {"runIds": []}, {"runIds": [1]}, {"runIds": ["r"], "check": 1}]),
]  # fmt: skip
PARSERS: dict[str, Callable[[object], object]] = {
    "delegate_to_subagents": parse_delegate,
    "subagent": lambda given: parse_subagent(given, "/"),
    "get_subagent_output": parse_output_request,
    "get_subagent_session": parse_session_request,
    "background_agent_status": parse_status,
    "steer_subagent": parse_steer_request,
    "answer_subagent": parse_answer_request,
    "apply_subagent_changes": parse_apply,
}


@pytest.mark.parametrize(("name", "taken", "refused"), LIMITS)
def test_a_schema_draws_the_limits_where_the_parser_draws_them(
    name: str, taken: list[dict[str, object]], refused: list[dict[str, object]]
) -> None:
    check = Draft202012Validator(find_tool(name).parameters)
    for parameters in taken:
        assert check.is_valid(parameters), parameters
        PARSERS[name](parameters)
    for parameters in refused:
        assert not check.is_valid(parameters), parameters
        with pytest.raises(InvalidRequest):
            PARSERS[name](parameters)


def test_every_schema_is_plain_json() -> None:
    for tool in all_tools():
        assert json.loads(json.dumps(tool.parameters)) == tool.parameters
        assert tool.parameters["type"] == "object"
        assert tool.description.endswith(".")


def test_the_fields_of_the_schema_are_those_the_parser_takes() -> None:
    tool = all_tools()[0]
    task = tool.parameters["properties"]["tasks"]["items"]  # type: ignore[index]  # what hosts get is plain JSON
    assert task["required"] == ["name", "prompt"]
    values: dict[str, object] = {
        "string": "/x", "number": 5, "array": ["notes.txt"], "object": {"type": "object"},
    }  # fmt: skip
    example = {
        name: field["enum"][0] if "enum" in field else values[field["type"]]
        for name, field in task["properties"].items()
    }
    example["budget"] = {"tokens": 5}
    parse_delegate({"tasks": [example]})
    parse_delegate({"tasks": [{name: example[name] for name in task["required"]}]})
