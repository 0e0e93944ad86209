from __future__ import annotations

from typing import Any

from pi_subagents.faces.bridge import messages
from pi_subagents.faces.bridge.extension_tools import tools_to_json
from pi_subagents.service.tools.registry import TOOLS, all_tools


def reported() -> list[Any]:
    tools = tools_to_json()["tools"]
    assert isinstance(tools, list)
    return tools


def test_pi_registers_every_tool_in_our_order() -> None:
    assert [tool["name"] for tool in reported()] == list(TOOLS)
    for one, ours in zip(reported(), all_tools(), strict=True):
        assert (one["description"], one["parameters"]) == (ours.description, ours.parameters)


def test_the_tasks_of_a_delegation_are_sent_early_and_what_shapes_them_is_written_before() -> None:
    assert {tool["name"]: tool["prewarm"] for tool in reported() if tool["prewarm"]} == {
        "delegate_to_subagents": "tasks",
        "subagent": "tasks",
    }
    assert list(reported()[0]["parameters"]["properties"]) == ["profile", "budget", "tasks"]


def test_those_that_take_a_model_are_those_of_the_second_system() -> None:
    needing = [tool["name"] for tool in reported() if tool["needsModels"]]
    assert needing == [
        "subagent", "background_agent", "background_agent_status", "background_agent_stop",
    ]  # fmt: skip
    taking = [tool["name"] for tool in reported() if "model" in tool["parameters"]["properties"]]
    assert taking == ["subagent", "background_agent"]
    model = reported()[4]["parameters"]["properties"]["model"]
    assert model["type"] == "string"
    assert "enum" not in model


def test_a_call_says_what_was_asked_for_as_far_as_its_tool_takes_it() -> None:
    said = {tool["name"]: [each["path"] for each in tool["call"]] for tool in reported()}
    assert said == {
        "delegate_to_subagents": [["tasks"], ["profile"], ["tasks", "profile"]],
        "get_subagent_output": [["sessionId"]],
        "get_subagent_session": [["sessionId"]],
        "list_subagent_profiles": [],
        "steer_subagent": [["sessionId"], ["message"]],
        "answer_subagent": [["sessionId"]],
        "apply_subagent_changes": [],
        "subagent": [["preset"], ["tasks", "preset"], ["task"]],
        "background_agent": [["preset"], ["task"]],
        "background_agent_status": [["runId"]],
        "background_agent_stop": [["runId"]],
    }
    tasks, default, profiles = reported()[0]["call"]
    assert tasks == {
        "path": ["tasks"], "role": "accent", "text": "{}",
        "counted": ["{} sub-agent", "{} sub-agents"], "distinct": False,
    }  # fmt: skip
    assert (default["role"], default["text"]) == ("dim", "(default profile: {})")
    assert (profiles["text"], profiles["distinct"]) == ("profiles: [{}]", True)


def test_lists_are_shown_whole_and_other_texts_in_their_beginning() -> None:
    assert [tool["name"] for tool in reported() if tool["shownWhole"]] == ["list_subagent_profiles"]
    assert tools_to_json()["text"] == {
        "fit": "wrap", "indent": 0, "first": 15, "more": ["... ({} more line)", "... ({} more lines)"],
    }  # fmt: skip


def test_every_word_of_the_shim_has_one_place_for_what_happened() -> None:
    words = tools_to_json()["words"]
    assert words == messages.SHIM_WORDS
    places = {name: text.count("{}") for name, text in messages.SHIM_WORDS.items()}
    assert places == {**dict.fromkeys(places, 1), "noSession": 0}
