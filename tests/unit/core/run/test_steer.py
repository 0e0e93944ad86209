from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import tool_names
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.core.run.steer import (
    Steered,
    SteerRequest,
    SteerStatus,
    parse_steer_request,
    steered_to_json,
)
from pi_subagents.errors import InvalidRequest
from pi_subagents.service import messages as service_messages
from pi_subagents.service.tools.registry import find_tool

ASKED = {"sessionId": "s", "message": "Use the other file."}


def test_the_parameters_are_read() -> None:
    assert parse_steer_request(ASKED) == SteerRequest("s", "Use the other file.", 30.0)
    assert parse_steer_request({**ASKED, "waitSeconds": None}) == parse_steer_request(ASKED)
    assert parse_steer_request({**ASKED, "waitSeconds": 0}).wait_s == 0
    widest = "x" * (MAX_STEER_BYTES - 1) + "\n"
    assert parse_steer_request({**ASKED, "message": widest}).message == widest


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        ([], "parameters", core_messages.NEEDS_OBJECT),
        ({"message": "x"}, "sessionId", core_messages.NEEDS_STRING),
        ({"sessionId": "s"}, "message", core_messages.NEEDS_STRING),
        ({"sessionId": "s", "message": ["x"]}, "message", core_messages.NEEDS_STRING),
        ({"sessionId": "s", "message": " \n\t"}, "message", core_messages.MUST_NOT_BE_EMPTY),
        (
            {"sessionId": "s", "message": "é" * (MAX_STEER_BYTES // 2) + "x"},
            "message",
            core_messages.steer_too_large(MAX_STEER_BYTES + 1, MAX_STEER_BYTES),
        ),
        ({**ASKED, "waitSeconds": 3601}, "waitSeconds", "must be 0 to 3600 seconds"),
        ({**ASKED, "waitSeconds": "5"}, "waitSeconds", core_messages.MUST_BE_SECONDS),
        (
            {**ASKED, "text": "x"},
            "parameters",
            'unknown field "text"; known: sessionId, message, waitSeconds',
        ),
    ],
)
def test_wrong_parameters_are_refused_with_their_place(
    parameters: object, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_steer_request(parameters)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@thoroughly
@given(
    json_values
    | st.dictionaries(st.sampled_from(["sessionId", "message", "waitSeconds"]), json_values)
)
def test_whatever_is_asked_is_read_or_refused(parameters: object) -> None:
    try:
        request = parse_steer_request(parameters)
    except InvalidRequest:
        return
    assert request.any_id
    assert request.message.strip()
    assert 0 <= request.wait_s <= 3600


def test_the_fields_of_the_schema_are_those_the_parser_takes() -> None:
    tool = find_tool(tool_names.STEER)
    properties = tool.parameters["properties"]
    assert isinstance(properties, dict)
    values = {"string": "x", "number": 5}
    parse_steer_request({name: values[field["type"]] for name, field in properties.items()})
    assert tool.parameters["required"] == ["sessionId", "message"]


@pytest.mark.parametrize(
    ("status", "reason", "text"),
    [
        ("delivered", "", "Delivered: look has read the message."),
        (
            "accepted",
            service_messages.STEER_AFTER_THIS_STEP,
            "Accepted, not read yet. The sub-agent will read it after its current step.",
        ),
        (
            "refused",
            core_messages.STEER_TOO_LATE,
            "Not delivered to look. The sub-agent had finished before the message reached it.",
        ),
    ],
)
def test_what_became_of_a_message_is_told(status: SteerStatus, reason: str, text: str) -> None:
    assert steered_to_json(Steered("r", "s", "look", status, reason)) == {
        "content": [{"type": "text", "text": text}],
        "details": {
            "sessionId": "s",
            "runId": "r",
            "taskName": "look",
            "status": status,
            "reason": reason or None,
        },
        "isError": False,
    }
