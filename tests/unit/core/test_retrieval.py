from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents import messages
from pi_subagents.core.retrieval import (
    OutputRequest,
    output_to_json,
    parse_output_request,
    parse_session_request,
    session_to_json,
)
from pi_subagents.core.session import StoredRun
from pi_subagents.errors import InvalidRequest

RUN = StoredRun("r", "s", "count", "completed", output="0123456789", exit_code=0, model="m")


def test_the_parameters_are_read() -> None:
    assert parse_output_request({"sessionId": "s"}) == OutputRequest("s")
    assert parse_output_request(
        {"sessionId": "s", "waitSeconds": 2.5, "offset": 1, "limit": 2, "tail": 3}
    ) == OutputRequest("s", 2.5, 1, 2, 3)
    assert parse_session_request({"sessionId": "s"}) == "s"


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        ([], "parameters", messages.NEEDS_SESSION),
        ({}, "sessionId", messages.NEEDS_STRING),
        ({"sessionId": 1}, "sessionId", messages.NEEDS_STRING),
        ({"sessionId": "s", "waitSeconds": -1}, "waitSeconds", "must be 0 to 3600 seconds"),
        (
            {"sessionId": "s", "waitSeconds": float("nan")},
            "waitSeconds",
            "must be 0 to 3600 seconds",
        ),
        ({"sessionId": "s", "waitSeconds": True}, "waitSeconds", "must be 0 to 3600 seconds"),
        ({"sessionId": "s", "limit": -1}, "limit", messages.MUST_BE_COUNT),
        ({"sessionId": "s", "tail": 1.5}, "tail", messages.MUST_BE_COUNT),
        (
            {"sessionId": "s", "id": "s"},
            "parameters",
            'unknown field "id"; known: sessionId, waitSeconds, offset, limit, tail',
        ),
    ],
)
def test_wrong_parameters_are_refused_with_their_place(
    parameters: object, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_output_request(parameters)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (OutputRequest("s"), "0123456789"),
        (OutputRequest("s", offset=4), "456789"),
        (OutputRequest("s", offset=4, limit=2), "45"),
        (OutputRequest("s", tail=3), "789"),
        (OutputRequest("s", tail=99), "0123456789"),
        (OutputRequest("s", limit=0), ""),
    ],
)
def test_a_part_of_the_output_is_never_passed_off_as_the_whole(
    request_: OutputRequest, text: str
) -> None:
    answer = output_to_json([RUN], request_, max_lines=15)
    details = {
        "sessionId": "s",
        "status": "completed",
        "taskName": "count",
        "runCount": 1,
        "maxLines": 15,
        "totalCharacters": 10,
    }
    if len(text) < 10:
        details["shownCharacters"] = len(text)
    assert answer == {
        "content": [{"type": "text", "text": text}],
        "details": details,
        "isError": False,
    }


def test_the_latest_run_speaks_for_the_session() -> None:
    later = StoredRun("r2", "s", "again", "running")
    answer = session_to_json([RUN, later], max_lines=15)
    assert answer["details"] == {
        "sessionId": "s",
        "status": "running",
        "taskName": "again",
        "runCount": 2,
        "maxLines": 15,
        "messageCount": 0,
        "exitCode": None,
        "model": None,
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda x: st.dictionaries(st.sampled_from(["sessionId", "waitSeconds", "offset", "tail"]), x),
)


@thoroughly
@given(json_values)
def test_any_parameters_are_read_or_refused(parameters: object) -> None:
    try:
        request = parse_output_request(parameters)
    except InvalidRequest:
        return
    assert request.session_id
