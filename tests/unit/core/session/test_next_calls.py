"""The call a main model makes next is one that its tool takes."""

from __future__ import annotations

import json

import pytest

from pi_subagents.core import messages
from pi_subagents.core.session.next_calls import go_on, read_on
from pi_subagents.core.session.retrieval import parse_output_request, parse_session_request
from pi_subagents.core.settings import ALL_TOOLS, PRESET_TOOLS, PROFILE_TOOLS
from pi_subagents.core.task.request import parse_delegate


def parameters(call: str, tool: str) -> object:
    name, _, given = call.partition(" ")
    assert name == tool
    return json.loads(given)


@pytest.mark.parametrize("family", [ALL_TOOLS, PROFILE_TOOLS])
def test_a_session_is_gone_on_with_by_a_task_that_resumes_it(family: str) -> None:
    call = go_on("5" * 16, "dig\n" * 100, family, error_message="Stopped on request")
    (task,) = parse_delegate(parameters(call, "delegate_to_subagents")).tasks
    assert (task.resume, task.prompt, task.timeout_s) == ("5" * 16, messages.GO_ON, 600)
    assert len(task.name) <= 60


def test_where_no_tool_can_resume_its_transcript_is_read() -> None:
    call = go_on("5" * 16, "dig", PRESET_TOOLS)
    assert parse_session_request(parameters(call, "get_subagent_session")).session_id == "5" * 16


@pytest.mark.parametrize(
    ("timeout_s", "again"), [(300.0, 600), (0.5, 1), (1.25, 2.5), (80_000.0, 86_400)]
)
def test_what_had_too_little_time_gets_more(timeout_s: float, again: float) -> None:
    why = messages.timed_out(timeout_s)
    call = go_on("s", "dig", ALL_TOOLS, error_message=why, timeout_s=timeout_s)
    (task,) = parse_delegate(parameters(call, "delegate_to_subagents")).tasks
    assert task.timeout_s == again


def test_the_rest_of_an_answer_is_read_from_where_it_was_cut() -> None:
    part = parse_output_request(parameters(read_on("s", 7, 9), "get_subagent_output")).part
    assert (part.offset, part.limit) == (7, 9)
