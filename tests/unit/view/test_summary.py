from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import tool_line
from tests.unit.core.given_values import briefly
from tests.unit.core.run.test_result import results

from pi_subagents.core.messages import NO_TEXT_OUTPUT, NOTE_EMPTY_ANSWER
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.settings import InlineAnswers, Settings
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.view.answers import delegation_to_json, refusal_to_json, summary_line
from pi_subagents.view.window import Window, WindowLine, WindowTitle

AS_THE_SEEDS = Settings(inline_answers=InlineAnswers(0))
DONE = RunResult("1" * 32, "a3f7b9c2d1e8f4a1", "build-assets", "completed", "Built.")
TIMED_OUT = RunResult(
    "2" * 32, "f4e1d8a7c0b39265", "run-tests", "failed",
    error_message="Timed out after 300s. Consider resuming with a longer timeout.",
    exit_code=143, duration_ms=330_000, usage=Usage(1, 2, 3, 4, 10, 0.5), notes=("A note.",),
)  # fmt: skip
LINES = (
    "✓ build-assets: completed (session: a3f7b9c2d1e8f4a1)",
    (
        "✗ run-tests: error — Timed out after 300s. Consider resuming with a longer timeout. "
        "(session: f4e1d8a7c0b39265)"
    ),
)


def test_the_two_lines_of_seed_001_to_the_character() -> None:
    assert (summary_line(DONE), summary_line(TIMED_OUT)) == LINES


def test_an_empty_answer_is_no_success_and_a_failure_is_told_in_words() -> None:
    silent = replace(DONE, output=NO_TEXT_OUTPUT, notes=(NOTE_EMPTY_ANSWER,))
    assert summary_line(silent) == (
        "⚠ build-assets: completed — The sub-agent finished without any text. "
        "(session: a3f7b9c2d1e8f4a1)"
    )
    refused = replace(TIMED_OUT, error_message='401 {"error": "authentication_error"}')
    assert summary_line(refused) == (
        "✗ run-tests: error — The provider refused the key (401). (session: f4e1d8a7c0b39265)"
    )


@pytest.mark.parametrize("status", ["failed", "aborted", "interrupted"])
def test_every_other_ending_is_an_error(status: str) -> None:
    result = RunResult("r", "s", "n", status, error_message="why")  # type: ignore[arg-type]  # states and kinds by name
    assert summary_line(result) == "✗ n: error — why (session: s)"


def test_names_and_messages_stay_on_their_line_and_do_nothing_to_a_terminal() -> None:
    result = RunResult("r", "s", "a\nb\x1b[2J", "failed", error_message="x\n\ty" + "z" * 2000)
    assert summary_line(result) == f"✗ a b: error — x y{'z' * 996}… (session: s)"


def test_the_value_of_the_tool_whole() -> None:
    nothing = {
        "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": {"total": 0.0},
    }  # fmt: skip
    some = {
        "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": {"total": 0.5},
    }  # fmt: skip
    lines = (tool_line("bash → make"), WindowLine.said("Built."))
    windows = [
        Window(WindowTitle("build-assets", "fast"), "completed", 1, elapsed_ms=1500, lines=lines),
        Window(WindowTitle("run-tests"), "running"),
    ]
    assert delegation_to_json([DONE, TIMED_OUT], windows, AS_THE_SEEDS) == {
        "content": [{"type": "text", "text": f"{LINES[0]} [profile: fast]\n{LINES[1]}"}],
        "details": {
            "inlineAnswers": {"each": 0, "call": 12_000},
            "status": "done",
            "maxLines": 15,
            "windows": [
                {
                    "name": name,
                    "profile": profile,
                    "provider": None,
                    "model": None,
                    "thinkingLevel": None,
                    "toolCount": None,
                    "fileCount": 0,
                    "timeoutS": 600,
                    "sessionId": None,
                    "status": status,
                    "callCount": calls,
                    "todo": None,
                    "startedAt": None,
                    "elapsedMs": elapsed,
                    "errorMessage": None,
                    "usage": nothing,
                    "lines": lines,
                }
                for name, profile, status, calls, elapsed, lines in (
                    (
                        "build-assets",
                        "fast",
                        "completed",
                        1,
                        1500,
                        [
                            {"text": "bash → make", "kind": "tool"},
                            {"text": "Built.", "kind": "text"},
                        ],
                    ),
                    ("run-tests", None, "running", 0, 0, []),
                )
            ],
            "sessionIds": ["a3f7b9c2d1e8f4a1", "f4e1d8a7c0b39265"],
            "results": [
                {
                    "name": "build-assets",
                    "sessionId": "a3f7b9c2d1e8f4a1",
                    "runId": "1" * 32,
                    "status": "completed",
                    "output": "Built.",
                    "errorMessage": None,
                    "nextCall": None,
                    "exitCode": None,
                    "durationMs": 0,
                    "model": None,
                    "usage": nothing,
                    "notes": [],
                },
                {
                    "name": "run-tests",
                    "sessionId": "f4e1d8a7c0b39265",
                    "runId": "2" * 32,
                    "status": "error",
                    "output": "",
                    "errorMessage": "Timed out after 300s. Consider resuming with a longer timeout.",
                    "nextCall": None,
                    "exitCode": 143,
                    "durationMs": 330_000,
                    "model": None,
                    "usage": some,
                    "notes": ["A note."],
                },
            ],
        },
        "isError": False,
    }


def test_the_value_of_a_refusal_whole() -> None:
    assert refusal_to_json("cwd must be an absolute path") == {
        "content": [{"type": "text", "text": "cwd must be an absolute path"}],
        "details": {"isError": True},
        "isError": True,
    }


@briefly
@given(st.lists(results.map(lambda result: replace(result, session_id="5" * 16)), max_size=3))
def test_any_results_give_one_line_each_and_json(some: list[RunResult]) -> None:
    windows = [Window(WindowTitle(result.name, result.model)) for result in some]
    value = delegation_to_json(some, windows, AS_THE_SEEDS)
    json.dumps(value, allow_nan=False)
    text = value["content"][0]["text"]  # type: ignore[index]  # what hosts get is plain JSON
    assert len(text.splitlines()) == len(some)
