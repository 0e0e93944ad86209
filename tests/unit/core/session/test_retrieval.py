from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # has no types
from tests import tool_names
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.session.history import output_text
from pi_subagents.core.session.retrieval import (
    ReadingRequest,
    in_one_text,
    output_to_json,
    parse_list_request,
    parse_output_request,
    parse_session_request,
    profiles_to_json,
    say_how_it_stands,
    session_to_json,
)
from pi_subagents.core.session.text_part import Grep, PartRequest, part_of
from pi_subagents.core.settings import Settings
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.errors import InvalidRequest
from pi_subagents.service.tools.outputs import structured
from pi_subagents.service.tools.registry import find_tool
from pi_subagents.view.failure import reason_line

NOTHING = usage_to_json(Usage())
GO_ON = (
    "(There is no whole answer. To go on: delegate_to_subagents "
    '{"tasks": [{"name": "count", "prompt": "Go on.", "resume": "s"}]})'
)
RUN = record("r", "s", "count", "completed", output="0123456789", exit_code=0, model="m")


def test_the_parameters_are_read() -> None:
    assert parse_output_request({"sessionId": "s"}) == ReadingRequest("s")
    part = {"offset": 1, "limit": 2, "tail": 3, "grep": "x", "regex": True, "context": 4}
    wanted = PartRequest(1, 2, 3, Grep("x", is_pattern=True, context=4))
    assert parse_output_request({"sessionId": "s", "waitSeconds": 2.5, **part}) == ReadingRequest(
        "s", 2.5, wanted
    )
    nothing_said = dict.fromkeys(("waitSeconds", *part))
    assert parse_output_request({"sessionId": "s", **nothing_said}) == ReadingRequest("s")
    assert parse_session_request({"sessionId": "s"}) == ReadingRequest("s")
    assert parse_session_request({"sessionId": "s", **part}) == ReadingRequest("s", part=wanted)


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        ([], "parameters", core_messages.NEEDS_OBJECT),
        ({}, "sessionId", core_messages.NEEDS_STRING),
        ({"sessionId": 1}, "sessionId", core_messages.NEEDS_STRING),
        ({"sessionId": "s", "waitSeconds": -1}, "waitSeconds", "must be 0 to 3600 seconds"),
        (
            {"sessionId": "s", "waitSeconds": float("nan")},
            "waitSeconds",
            "must be 0 to 3600 seconds",
        ),
        ({"sessionId": "s", "waitSeconds": True}, "waitSeconds", core_messages.MUST_BE_SECONDS),
        ({"sessionId": "s", "limit": -1}, "limit", core_messages.MUST_BE_COUNT),
        ({"sessionId": "s", "tail": 1.5}, "tail", core_messages.MUST_BE_COUNT),
        (
            {"sessionId": "s", "id": "s"},
            "parameters",
            (
                'unknown field "id"; known: sessionId, waitSeconds, offset, limit, tail, grep, '
                "regex, context"
            ),
        ),
        ({"sessionId": "s", "grep": 1}, "grep", core_messages.MUST_BE_STRING),
        ({"sessionId": "s", "grep": ""}, "grep", "must have 1 to 200 characters"),
        ({"sessionId": "s", "grep": "x" * 201}, "grep", "must have 1 to 200 characters"),
        ({"sessionId": "s", "grep": "x\n"}, "grep", core_messages.MUST_BE_ONE_LINE),
        ({"sessionId": "s", "regex": 1}, "regex", core_messages.MUST_BE_FLAG),
        ({"sessionId": "s", "context": -1}, "context", core_messages.MUST_BE_LINES),
    ],
)
def test_wrong_parameters_are_refused_with_their_place(
    parameters: object, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_output_request(parameters)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (PartRequest(), "0123456789"),
        (PartRequest(offset=4), "456789"),
        (PartRequest(offset=4, limit=2), "45"),
        (PartRequest(tail=3), "789"),
        (PartRequest(tail=99), "0123456789"),
        (PartRequest(limit=0), ""),
        (PartRequest(tail=0), ""),
    ],
)
def test_a_part_of_the_output_is_never_passed_off_as_the_whole(
    wanted: PartRequest, text: str
) -> None:
    answer = output_to_json([RUN], part_of(RUN.output, wanted), Settings())
    details = {
        "sessionId": "s",
        "status": "completed",
        "taskName": "count",
        "runCount": 1,
        "maxLines": 15,
        "model": "m",
        "usage": NOTHING,
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
    later = record("r2", "s", "again", "running")
    answer = session_to_json([RUN, later], part_of("", PartRequest()), Settings())
    assert answer["details"] == {
        "sessionId": "s",
        "status": "running",
        "taskName": "again",
        "runCount": 2,
        "maxLines": 15,
        "messageCount": 0,
        "exitCode": None,
        "model": None,
        "usage": NOTHING,
        "totalCharacters": 0,
    }


@pytest.mark.parametrize(
    ("status", "problem", "beside"),
    [
        ("completed", "", []),
        ("completed", "a warning", []),
        ("failed", "", []),
        ("failed", "No\nkey\x1b[31m.", ["(It ended with an error: No key.)"]),
        ("failed", "x" * 2000, [f"(It ended with an error: {'x' * 999}…)"]),
        (
            "failed",
            '401: {"message":"invalid x-api-key","type":"authentication_error"}',
            ["(It ended with an error: The provider refused the key (401).)"],
        ),
        ("interrupted", "Cut off", ["(It ended with an error: Cut off)"]),
        (
            "running",
            "",
            ["(This session is still running. To wait for it, set waitSeconds, up to 60.)"],
        ),
    ],
)
def test_a_model_that_sees_no_details_is_told_that_a_session_goes_on_or_why_it_failed(
    status: str, problem: str, beside: list[str]
) -> None:
    why = {"error_message": problem} if problem else {}
    part = part_of("0123456789", PartRequest())
    run = with_facts(RUN, status=status, **why)
    if status in ("failed", "interrupted"):
        beside = [*beside, GO_ON]
    answers = {
        tool_names.GET_OUTPUT: output_to_json([run], part, Settings()),
        tool_names.GET_SESSION: session_to_json([run], part, Settings()),
    }
    for name, answer in answers.items():
        tool = find_tool(name)
        heard: dict[str, Any] = say_how_it_stands(answer, 60, reason_line)
        texts = [answer_block(answer)["text"], *beside]
        assert in_one_text(heard) == {
            **answer,
            "content": [{"type": "text", "text": "\n\n".join(texts)}],
        }
        assert heard["content"][0] == answer_block(answer)
        assert heard["content"][1:] == [{"type": "text", "text": text} for text in beside]
        assert heard == {**answer, "content": heard["content"]}
        assert heard["details"].get("errorMessage") == (
            problem if run.tool_status == "error" and problem else None
        )
        Draft202012Validator(tool.returns).validate(structured(tool, heard))


def answer_block(answer: dict[str, Any]) -> dict[str, str]:
    block: dict[str, str]
    (block,) = answer["content"]
    return block


def test_of_a_resumed_session_only_the_latest_output_is_told() -> None:
    later = record("r2", "s", "again", "completed", output="fourteen")
    part = part_of(output_text(later), PartRequest())
    assert output_to_json([RUN, later], part, Settings(max_lines_per_window=9)) == {
        "content": [{"type": "text", "text": "fourteen"}],
        "details": {
            "sessionId": "s",
            "status": "completed",
            "taskName": "again",
            "runCount": 2,
            "maxLines": 9,
            "model": None,
            "usage": NOTHING,
            "totalCharacters": 8,
        },
        "isError": False,
    }
    silent = record("r2", "s", "again", "failed")
    assert output_text(silent) == "(no text output from sub-agent)"


def test_profiles_are_told_a_line_each_with_scope_and_problems() -> None:
    lines = {"a": "profile: a, model=m", "b": "profile: b"}
    scopes = {"a": "global", "b": "project"}
    assert profiles_to_json(lines, scopes, ("x.md:3: is odd",)) == {
        "content": [{"type": "text", "text": "profile: a, model=m\nprofile: b"}],
        "details": {
            "count": 2,
            "profiles": lines,
            "scopes": scopes,
            "problems": ["x.md:3: is odd"],
        },
        "isError": False,
    }


def test_where_there_are_no_profiles_it_is_said_where_to_put_them() -> None:
    assert profiles_to_json({}, {}, ()) == {
        "content": [
            {
                "type": "text",
                "text": "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ "
                "or .pi/agent-profiles/.",
            }
        ],
        "details": {"count": 0},
        "isError": False,
    }


@pytest.mark.parametrize("parameters", [None, [], {"cwd": "/"}])
def test_listing_profiles_takes_no_parameters(parameters: object) -> None:
    parse_list_request({})
    with pytest.raises(InvalidRequest) as refusal:
        parse_list_request(parameters)
    problem = core_messages.TAKES_NO_PARAMETERS if parameters else core_messages.NEEDS_OBJECT
    assert str(refusal.value) == f"parameters: {problem}"


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
