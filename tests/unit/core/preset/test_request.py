from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.preset.request import (
    MAX_WAIT_S,
    PresetTask,
    StatusRequest,
    SubagentRequest,
    parse_background,
    parse_status,
    parse_stop,
    parse_subagent,
)
from pi_subagents.errors import CwdHasParentSegments, InvalidRequest, RequestError

TASK = {"preset": "scout", "task": "look"}


def test_a_single_task_is_read() -> None:
    assert parse_subagent(TASK, "/here") == SubagentRequest(
        (PresetTask("scout", "look"),), parallel=False
    )
    full = {**TASK, "model": "acme/big", "cwd": "/there"}
    assert parse_subagent(full, "/here") == SubagentRequest(
        (PresetTask("scout", "look", "acme/big", "/there"),), parallel=False
    )
    assert parse_background(full, "/here") == PresetTask("scout", "look", "acme/big", "/there")


def test_a_list_of_tasks_is_parallel_even_with_one() -> None:
    tasks = [TASK, {**TASK, "preset": "judge"}]
    assert parse_subagent({"tasks": tasks}, "/here") == SubagentRequest(
        (PresetTask("scout", "look"), PresetTask("judge", "look")), parallel=True
    )
    assert parse_subagent({"tasks": [TASK]}, "/here").parallel
    assert len(parse_subagent({"tasks": [TASK] * 16}, "/here").tasks) == 16


@pytest.mark.parametrize(
    ("cwd", "absolute"),
    [("sub", "/here/sub"), ("a/b", "/here/a/b"), ("/abs", "/abs"), ("", None), (None, None)],
)
def test_a_relative_directory_is_below_the_callers(cwd: str | None, absolute: str | None) -> None:
    assert parse_background({**TASK, "cwd": cwd}, "/here").cwd == absolute
    (task,) = parse_subagent({"tasks": [{**TASK, "cwd": cwd}]}, "/here").tasks
    assert task.cwd == absolute


@pytest.mark.parametrize("cwd", ["..", "../x", "a/../../x", "/a/.."])
def test_a_directory_does_not_climb(cwd: str) -> None:
    with pytest.raises(CwdHasParentSegments):
        parse_background({**TASK, "cwd": cwd}, "/here")


def test_an_empty_model_is_none() -> None:
    assert parse_background({**TASK, "model": ""}, "/here").model is None


def test_null_means_left_out() -> None:
    nulls = dict.fromkeys(("model", "cwd", "tasks"))
    assert parse_subagent({**TASK, **nulls}, "/here") == parse_subagent(TASK, "/here")
    several = {"tasks": [TASK], "preset": None, "task": None}
    assert parse_subagent(several, "/here") == parse_subagent({"tasks": [TASK]}, "/here")
    assert parse_status(dict.fromkeys(("runId", "includeCompleted", "waitSeconds"))) == (
        StatusRequest()
    )
    assert parse_stop({"runId": None}) is None


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        ([], "parameters", core_messages.NEEDS_PRESET_OR_TASKS),
        ({}, "preset", core_messages.NEEDS_STRING),
        ({"preset": 1, "task": "t"}, "preset", core_messages.NEEDS_STRING),
        ({"preset": "p"}, "task", core_messages.NEEDS_STRING),
        ({"preset": "p", "task": " \n"}, "task", core_messages.MUST_NOT_BE_EMPTY),
        ({**TASK, "model": 1}, "model", core_messages.MUST_BE_STRING),
        ({**TASK, "cwd": ["x"]}, "cwd", core_messages.MUST_BE_STRING),
        ({**TASK, "cwd": "a\0"}, "cwd", core_messages.MUST_NOT_HAVE_NULL),
        ({"tasks": TASK}, "tasks", core_messages.NEEDS_PRESET_TASK_LIST),
        ({"tasks": []}, "tasks", core_messages.wrong_task_count(16, 0)),
        ({"tasks": [TASK] * 17}, "tasks", core_messages.wrong_task_count(16, 17)),
        ({"tasks": [TASK, "x"]}, "tasks[1]", core_messages.NEEDS_OBJECT),
        ({"tasks": [TASK, {"preset": "p"}]}, "tasks[1].task", core_messages.NEEDS_STRING),
        (
            {"tasks": [{**TASK, "prompt": "x"}]},
            "tasks[0]",
            'unknown field "prompt"; known: preset, task, engine, model, cwd, outputSchema',
        ),
        (
            {**TASK, "tasks": [TASK]},
            "parameters",
            'unknown field "preset"; known: tasks',
        ),
        (
            {**TASK, "chain": [TASK]},
            "parameters",
            'unknown field "chain"; known: preset, task, engine, model, cwd, outputSchema, tasks',
        ),
    ],
)
def test_what_subagent_cannot_take_is_refused_with_its_place(
    parameters: Any, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_subagent(parameters, "/here")
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        ("x", "parameters", core_messages.NEEDS_PRESET_AND_TASK),
        (
            {"tasks": [TASK]},
            "parameters",
            'unknown field "tasks"; known: preset, task, engine, model, cwd, outputSchema',
        ),
    ],
)
def test_a_background_run_is_one_task(parameters: Any, where: str, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_background(parameters, "/here")
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


def test_a_status_request_is_read() -> None:
    assert parse_status({}) == StatusRequest()
    assert parse_status({"runId": "r", "includeCompleted": True, "waitSeconds": 2.5}) == (
        StatusRequest("r", include_completed=True, wait_s=2.5)
    )
    assert parse_status({"runId": "", "waitSeconds": MAX_WAIT_S}) == StatusRequest(wait_s=3600)


@pytest.mark.parametrize(
    ("parameters", "where", "problem"),
    [
        (None, "parameters", core_messages.NEEDS_OBJECT),
        ({"runId": 1}, "runId", core_messages.MUST_BE_STRING),
        ({"includeCompleted": "yes"}, "includeCompleted", core_messages.MUST_BE_FLAG),
        ({"waitSeconds": -1}, "waitSeconds", "must be 0 to 3600 seconds"),
        ({"waitSeconds": 3601}, "waitSeconds", "must be 0 to 3600 seconds"),
        ({"wait": 1}, "parameters", 'unknown field "wait"; known: runId, includeCompleted, waitSeconds'),
    ],
)  # fmt: skip
def test_what_status_cannot_take_is_refused_with_its_place(
    parameters: Any, where: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_status(parameters)
    assert (refusal.value.where, refusal.value.problem) == (where, problem)


def test_a_stop_is_for_one_run_or_for_all() -> None:
    assert (parse_stop({"runId": "r"}), parse_stop({}), parse_stop({"runId": None})) == (
        "r",
        None,
        None,
    )
    wrong: list[Any] = [[], {"runId": 1}, {"all": True}]
    for parameters in wrong:
        with pytest.raises(InvalidRequest):
            parse_stop(parameters)


def test_an_empty_id_never_stops_all_runs() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_stop({"runId": ""})
    assert (refusal.value.where, refusal.value.problem) == (
        "runId",
        "must not be empty; leave it out to stop all active runs",
    )


keys = st.sampled_from(
    ["preset", "task", "tasks", "model", "cwd", "runId", "includeCompleted", "waitSeconds"]
)
objects = st.dictionaries(keys | texts, json_values, max_size=5)
parameters_of_any_kind = (
    json_values
    | objects
    | objects.map(lambda given: {**TASK, **given})
    | st.lists(objects.map(lambda given: {**TASK, **given}), max_size=3).map(
        lambda tasks: {"tasks": tasks}
    )
)


@thoroughly
@given(parameters_of_any_kind)
def test_any_parameters_are_read_or_refused(parameters: Any) -> None:
    for parse in (parse_subagent, parse_background):
        try:
            read = parse(parameters, "/here")
        except RequestError:
            continue
        for task in read.tasks if isinstance(read, SubagentRequest) else [read]:
            assert task.preset
            assert task.task.strip()
            assert task.model != ""
            assert task.cwd is None or task.cwd.startswith("/")
            assert ".." not in (task.cwd or "").split("/")


@thoroughly
@given(parameters_of_any_kind)
def test_any_question_is_read_or_refused(parameters: Any) -> None:
    with suppress(RequestError):
        status = parse_status(parameters)
        assert status.run_id != ""
        assert 0 <= status.wait_s <= MAX_WAIT_S
    with suppress(RequestError):
        assert parse_stop(parameters) != ""
