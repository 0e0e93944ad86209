"""A delegation that goes on: what is done is told, what is not says so, and how to get the rest."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # has no types
from tests import tool_names

from pi_subagents.core.preset.request import PresetTask, SubagentRequest
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.settings import InlineAnswers, Settings
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.service.tools.outputs import structured
from pi_subagents.service.tools.registry import find_tool
from pi_subagents.view import messages
from pi_subagents.view.answers import progress_line, unfinished_to_json
from pi_subagents.view.window import Window, WindowLine, WindowTitle

SHORT = Settings(inline_answers=InlineAnswers(0))
SPENT = Usage(input=1, output=2, total_tokens=3)


def window(name: str, status: Any, profile: str = "scout") -> Window:
    title = WindowTitle(name, profile=profile, session_id=f"session-{name}")
    lines = (WindowLine.said("what only a window shows"),)
    return Window(title, status, lines=lines, usage=SPENT)


def result(name: str, status: Any, output: str, problem: str = "") -> RunResult:
    return RunResult(
        run_id=f"run-{name}", session_id=f"session-{name}", name=name, status=status, output=output,
        error_message=problem, duration_ms=7, usage=SPENT, notes=("note",),
    )  # fmt: skip


WINDOWS = (
    window("done", "completed"),
    window("bad", "error"),
    window("busy", "running"),
    window("new", "queued"),
)
SAID = {0: "bye", 2: "make   test\x1b[31m"}
ASKED = SubagentRequest(
    tuple(PresetTask(preset, "t") for preset in ("scout", "nope", "scout", "tester")), parallel=True
)
RESULTS = {0: result("done", "completed", "42"), 1: result("bad", "aborted", "half", "Stopped")}


def ended(name: str, status: str, output: str, problem: str | None) -> dict[str, Any]:
    return {
        "sessionId": f"session-{name}", "runId": f"run-{name}", "status": status, "output": output,
        "errorMessage": problem, "nextCall": None, "exitCode": None, "durationMs": 7, "model": None,
        "usage": usage_to_json(SPENT), "notes": ["note"],
    }  # fmt: skip


def going(name: str) -> dict[str, Any]:
    return {"sessionId": f"session-{name}", "status": "running", "output": "",
            "errorMessage": None, "usage": usage_to_json(SPENT)}  # fmt: skip


def test_tasks_are_told_in_order_by_line_and_by_value() -> None:
    answer = unfinished_to_json(WINDOWS, RESULTS, SAID, SHORT, after_s=49.6, wait_s=50)
    lines = (
        "Still running after 50 s: 2 of 4. The work goes on by itself.",
        "✓ done: completed (session: session-done) [profile: scout]",
        "✗ bad: error — Stopped (session: session-bad) [profile: scout]",
        "⏳ busy: running — make test (session: session-busy)",
        "⏳ new: queued (session: session-new)",
        messages.how_to_get_the_rest(50),
    )
    assert answer == {
        "content": [{"type": "text", "text": "\n".join(lines)}],
        "details": {
            "status": "running",
            "inlineAnswers": {"each": 0, "call": 12_000},
            "sessionIds": ["session-done", "session-bad", "session-busy", "session-new"],
            "results": [
                {"name": "done", **ended("done", "completed", "42", None)},
                {"name": "bad", **ended("bad", "error", "half", "Stopped")},
                {"name": "busy", **going("busy")},
                {"name": "new", **going("new")},
            ],
        },
        "isError": False,
    }


def test_tasks_with_presets_have_the_presets_as_asked_their_states_and_no_profile() -> None:
    answer = unfinished_to_json(WINDOWS, RESULTS, SAID, SHORT, after_s=1, wait_s=50, request=ASKED)
    lines = (
        "Still running after 1 s: 2 of 4. The work goes on by itself.",
        "✓ done: completed (session: session-done)",
        "✗ bad: error — Stopped (session: session-bad)",
        "⏳ busy: running — make test (session: session-busy)",
        "⏳ new: queued (session: session-new)",
        messages.how_to_get_the_rest(50),
    )
    assert answer == {
        "content": [{"type": "text", "text": "\n".join(lines)}],
        "details": {
            "status": "running",
            "inlineAnswers": {"each": 0, "call": 12_000},
            "mode": "parallel",
            "sessionIds": ["session-done", "session-bad", "session-busy", "session-new"],
            "results": [
                {"preset": "scout", **ended("done", "completed", "42", None)},
                {"preset": "nope", **ended("bad", "aborted", "half", "Stopped")},
                {"preset": "scout", **going("busy")},
                {"preset": "tester", **going("new")},
            ],
        },
        "isError": False,
    }


def test_the_answers_of_those_that_are_done_stand_behind_the_lines() -> None:
    answer: Any = unfinished_to_json(WINDOWS, RESULTS, SAID, Settings(), after_s=1, wait_s=50)
    _, answers = (block["text"] for block in answer["content"])
    mark = answers.split(" ")[4]
    assert answers.split("\n")[2:] == [
        f"{mark} 1. done: completed · 3 tokens",
        "42",
        "",
        f"{mark} 2. bad: error · 3 tokens · {messages.PARTIAL_ANSWER}",
        "half",
    ]


ALONE = WINDOWS[2:3]


@pytest.mark.parametrize(
    ("windows", "asked", "mode"),
    [
        (WINDOWS, None, None),
        (ALONE, None, None),
        (WINDOWS, ASKED, "parallel"),
        (ALONE, SubagentRequest(ASKED.tasks[:1], parallel=True), "parallel"),
        (ALONE, SubagentRequest(ASKED.tasks[:1], parallel=False), "single"),
    ],
)
def test_the_value_is_what_the_schema_says(
    windows: tuple[Window, ...], asked: SubagentRequest | None, mode: str | None
) -> None:
    known = {index: each for index, each in RESULTS.items() if len(windows) > 1}
    answer = unfinished_to_json(windows, known, {}, Settings(), after_s=1, wait_s=50, request=asked)
    tool = find_tool(tool_names.SUBAGENT if asked else tool_names.DELEGATE)
    value = structured(tool, answer)
    Draft202012Validator(tool.returns).validate(value)
    assert value.get("mode") == mode


@pytest.mark.parametrize(
    ("latest", "line"),
    [
        (None, "Sub-agents: 1 running, 1 queued, 1 done, 1 error"),
        ((2, "make  test\x1b[31m\nall"),
         "Sub-agents: 1 running, 1 queued, 1 done, 1 error — busy: make test all"),
        ((2, "x" * 121),
         f"Sub-agents: 1 running, 1 queued, 1 done, 1 error — busy: {'x' * 119}…"),
    ],
)  # fmt: skip
def test_progress_names_the_task_that_spoke_last(latest: tuple[int, str] | None, line: str) -> None:
    assert progress_line(WINDOWS, latest) == line
