from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_objects, json_values, texts, thoroughly

from pi_subagents.core import messages
from pi_subagents.core.task.attachment import FileSpec
from pi_subagents.core.task.request import (
    DelegateRequest,
    Task,
    checked_request,
    parse_delegate,
)
from pi_subagents.errors import CwdHasParentSegments, CwdNotAbsolute, InvalidRequest, RequestError


def call(**fields: object) -> dict[str, object]:
    return {"tasks": [{"name": "a", "prompt": "b", **fields}]}


def test_a_call_with_everything() -> None:
    parameters = {
        "tasks": [
            {
                "name": "one",
                "prompt": "Do it.",
                "cwd": "/srv/app",
                "profile": "reviewer",
                "timeout": 30,
                "resume": "a3f7b9c2d1e8f4a1",
                "files": ["a.txt"],
            },
            dict.fromkeys(("cwd", "profile", "resume", "timeout", "files"))
            | {"name": "two", "prompt": "Do that."},
        ],
        "profile": "worker",
    }
    one = Task(
        name="one",
        prompt="Do it.",
        cwd="/srv/app",
        timeout_s=30,
        files=(FileSpec("a.txt"),),
        profile="reviewer",
        resume="a3f7b9c2d1e8f4a1",
    )
    request = parse_delegate(parameters)
    assert request == DelegateRequest((one, Task("two", "Do that.", None, 600)), "worker")
    assert [request.profile_of(task) for task in request.tasks] == ["reviewer", "worker"]


# The calls that seeds 001 and 004 show, as they stand there.
DOCUMENTED = {
    "two tasks": (
        """{"tasks": [
            {"name": "review-pr",
             "prompt": "Review the latest pull request and provide constructive feedback."},
            {"name": "update-docs",
             "prompt": "Update the API documentation to reflect the new /v2 endpoints."}]}""",
        [("review-pr", None, 600, None, ()), ("update-docs", None, 600, None, ())],
    ),
    "profiles": (
        """{"profile": "researcher", "tasks": [
            {"name": "market-analysis", "profile": "analyst",
             "prompt": "Research competitor pricing for SaaS analytics platforms."},
            {"name": "tech-survey",
             "prompt": "Survey the latest developments in RAG architectures."}]}""",
        [("market-analysis", "analyst", 600, None, ()), ("tech-survey", "researcher", 600, None, ())],
    ),
    "resume": (
        """{"tasks": [
            {"name": "refactor-core", "resume": "a3f7b9c2d1e8f4a1", "timeout": 900,
             "prompt": "Continue refactoring the core module. Focus on the event dispatcher."}]}""",
        [("refactor-core", None, 900, "a3f7b9c2d1e8f4a1", ())],
    ),
    "files": (
        """{"tasks": [
            {"name": "review-api", "prompt": "Review the API routes for security issues.",
             "files": ["src/routes.ts", {"path": "src/middleware.ts", "head": 50}]},
            {"name": "review-tests", "prompt": "Check test coverage for the auth module.",
             "files": [{"path": "src/auth.ts", "tail": 30}, "tests/auth.test.ts"]}]}""",
        [
            ("review-api", None, 600, None,
             (FileSpec("src/routes.ts"), FileSpec("src/middleware.ts", head=50))),
            ("review-tests", None, 600, None,
             (FileSpec("src/auth.ts", tail=30), FileSpec("tests/auth.test.ts"))),
        ],
    ),
    "per task": (
        """{"tasks": [
            {"name": "review-src", "prompt": "Review all TypeScript files in src/.",
             "profile": "code-reviewer"},
            {"name": "research-patterns", "profile": "research-budget",
             "prompt": "Research best practices for error handling in TypeScript."}]}""",
        [
            ("review-src", "code-reviewer", 600, None, ()),
            ("research-patterns", "research-budget", 600, None, ()),
        ],
    ),
    "default": (
        """{"profile": "fast-worker", "tasks": [
            {"name": "quick-task", "prompt": "Count the lines in src/."},
            {"name": "deep-review", "prompt": "Perform a deep security audit of auth.ts.",
             "profile": "code-reviewer"}]}""",
        [
            ("quick-task", "fast-worker", 600, None, ()),
            ("deep-review", "code-reviewer", 600, None, ()),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DOCUMENTED.values(), ids=DOCUMENTED)
def test_every_documented_call_is_read(text: str, expected: list[object]) -> None:
    request = parse_delegate(json.loads(text))
    assert [
        (task.name, request.profile_of(task), task.timeout_s, task.resume, task.files)
        for task in request.tasks
    ] == expected
    assert [task.prompt for task in request.tasks] == [
        task["prompt"] for task in json.loads(text)["tasks"]
    ]


def test_an_empty_profile_is_none() -> None:
    request = parse_delegate({**call(profile=""), "profile": ""})
    assert not request.profile_of(request.tasks[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (None, "parameters: must be an object with a list `tasks`"),
        ([], "parameters: must be an object with a list `tasks`"),
        ("tasks", "parameters: must be an object with a list `tasks`"),
        ({}, "tasks: is required and must be a list of task objects"),
        ({"tasks": {}}, "tasks: is required and must be a list of task objects"),
        ({"tasks": None}, "tasks: is required and must be a list of task objects"),
        ({"tasks": []}, "tasks: must hold 1 to 16 tasks, not 0"),
        ({"tasks": call()["tasks"] * 17}, "tasks: must hold 1 to 16 tasks, not 17"),  # type: ignore[operator]  # a schema is plain JSON
        (
            {"tasks": [], "task": 1},
            'parameters: unknown field "task"; known: tasks, profile, budget',
        ),
        ({**call(), "profile": 1}, "profile: must be a string"),
        (call(profile=[]), "tasks[0].profile: must be a string"),
        (call(resume=7), "tasks[0].resume: must be a string"),
        ({"tasks": ["a"]}, "tasks[0]: must be an object with `name` and `prompt`"),
        ({"tasks": [{"prompt": "b"}]}, "tasks[0].name: is required and must be a string"),
        ({"tasks": [{"name": "a"}]}, "tasks[0].prompt: is required and must be a string"),
        (call(name=1), "tasks[0].name: is required and must be a string"),
        (call(prompt=["b"]), "tasks[0].prompt: is required and must be a string"),
        (call(name=" \n"), "tasks[0].name: must have 1 to 200 characters"),
        (call(name="x" * 201), "tasks[0].name: must have 1 to 200 characters"),
        (call(prompt=" \t"), "tasks[0].prompt: must not be empty"),
        (call(cwd=7), "tasks[0].cwd: must be a string"),
        (call(cwd="/a\0b"), "tasks[0].cwd: must not contain a null byte"),
        (call(cwd="src"), "cwd must be an absolute path"),
        (call(cwd=""), "cwd must be an absolute path"),
        (call(cwd="./src"), "cwd must be an absolute path"),
        (call(cwd="~/src"), "cwd must be an absolute path"),
        (call(cwd="../src"), "cwd must be an absolute path"),
        (call(cwd="/a/../b"), "cwd must not contain '..' path segments"),
        (call(cwd="/.."), "cwd must not contain '..' path segments"),
        (call(cwd="/a/.."), "cwd must not contain '..' path segments"),
        (call(timeout="30"), "tasks[0].timeout: must be a number of seconds"),
        (call(timeout=True), "tasks[0].timeout: must be a number of seconds"),
        (call(timeout=False), "tasks[0].timeout: must be a number of seconds"),
        (call(files=False), f"tasks[0].files: {messages.NEEDS_FILE_LIST}"),
        (call(timeout=0), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=0.99), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=-5), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=86401), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=math.nan), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=math.inf), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=-math.inf), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (call(timeout=10**400), "tasks[0].timeout: must be 1 to 86400 seconds"),
        (
            call(time_out=1),
            (
                'tasks[0]: unknown field "time_out"; '
                "known: name, prompt, cwd, profile, engine, timeout, resume, files, budget, "
                "questions, outputSchema, workspace, check, checkRounds"
            ),
        ),
    ],
)
def test_whatever_is_wrong_refuses_the_whole_call_and_names_the_place(
    parameters: object, message: str
) -> None:
    with pytest.raises(RequestError) as refusal:
        parse_delegate(parameters)
    assert str(refusal.value) == message


def test_the_wrong_task_is_named_by_its_number() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_delegate({"tasks": [{"name": "a", "prompt": "b"}, {"name": "c", "prompt": ""}]})
    assert (refusal.value.where, refusal.value.problem) == ("tasks[1].prompt", "must not be empty")


@pytest.mark.parametrize("cwd", ["/", "/a..b", "/a/...", "/..a/b..", "/a//b/./c", "/with space/ü"])
def test_a_path_that_does_not_climb_is_taken_as_it_is(cwd: str) -> None:
    assert parse_delegate(call(cwd=cwd)) == DelegateRequest((Task("a", "b", cwd),))


@pytest.mark.parametrize("timeout", [1, 1.5, 86400])
def test_the_limits_of_a_time_out_are_allowed(timeout: float) -> None:
    assert parse_delegate(call(timeout=timeout)) == DelegateRequest(
        (Task("a", "b", None, timeout),)
    )


@pytest.mark.parametrize("count", [1, 16])
def test_one_to_sixteen_tasks_are_taken_in_order(count: int) -> None:
    tasks = [{"name": f"t{n}", "prompt": "p"} for n in range(count)]
    assert parse_delegate({"tasks": tasks}) == DelegateRequest(
        tuple(Task(f"t{n}", "p") for n in range(count))
    )


def test_tasks_of_the_python_api_pass_the_same_gate() -> None:
    """Values that a caller builds are judged like those that arrive as JSON."""
    assert checked_request(iter([Task("a", "b")])) == DelegateRequest((Task("a", "b"),))
    with pytest.raises(CwdNotAbsolute) as relative:
        checked_request([Task("a", "b", cwd="src")])
    assert relative.value.cwd == "src"
    with pytest.raises(CwdHasParentSegments) as climbing:
        checked_request([Task("a", "b", cwd="/a/../b")])
    assert climbing.value.cwd == "/a/../b"
    with pytest.raises(InvalidRequest) as no_flag:
        checked_request([Task("a", "b", fork="yes")])  # type: ignore[arg-type]  # a wrong type
    assert str(no_flag.value) == f"tasks[0].fork: {messages.MUST_BE_FLAG}"


almost_tasks = st.lists(
    json_values
    | st.fixed_dictionaries(
        {},
        optional={
            "name": texts | json_values,
            "prompt": texts | json_values,
            "cwd": texts.map(lambda t: f"/{t}") | json_values,
            "timeout": st.floats() | st.integers() | json_values,
        },
    ),
    max_size=18,
)


@thoroughly
@given(json_values | json_objects | st.fixed_dictionaries({"tasks": almost_tasks | json_values}))
def test_any_json_is_a_request_or_refused(parameters: object) -> None:
    try:
        request = parse_delegate(parameters)
    except RequestError:
        return
    assert 1 <= len(request.tasks) <= 16
    assert all(1 <= (task.timeout_s or 0) <= 86400 for task in request.tasks)
    assert all(task.cwd is None or task.cwd.startswith("/") for task in request.tasks)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400])
def test_a_huge_number_in_json_is_refused(number: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_delegate(json.loads(f'{{"tasks":[{{"name":"a","prompt":"b","timeout":{number}}}]}}'))


def test_a_text_is_the_prompt_of_a_task() -> None:
    task = Task("mine", "b")
    assert checked_request("hello").tasks == (Task("task-1", "hello"),)
    assert checked_request(task).tasks == (task,)
    assert checked_request([task, "hello"]).tasks == (task, Task("task-2", "hello"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "tasks: must be a prompt, a Task, or a list of these"),
        (None, "tasks: must be a prompt, a Task, or a list of these"),
        (b"hello", "tasks: must be a prompt, a Task, or a list of these"),
        ({"name": "a"}, "tasks: must be a prompt, a Task, or a list of these"),
        ([3], "tasks[0]: must be a prompt or a Task"),
        (["a", None], "tasks[1]: must be a prompt or a Task"),
        ("  ", "tasks[0].prompt: must not be empty"),
    ],
)
def test_what_is_neither_a_task_nor_a_prompt_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        checked_request(given)
    assert str(refused.value) == said
