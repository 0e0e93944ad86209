from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.window_lines import tool_line
from tests.unit.core.given_values import briefly
from tests.unit.core.run.test_result import results

from pi_subagents.core.messages import NO_TEXT_OUTPUT, NOTE_EMPTY_ANSWER
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session.retrieval import output_to_json, say_how_it_stands
from pi_subagents.core.session.text_part import TextPart
from pi_subagents.core.settings import InlineAnswers, Settings
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.service.tools.outputs import short_results
from pi_subagents.view.answers import delegation_to_json, refusal_to_json, summary_line
from pi_subagents.view.background import row_to_json
from pi_subagents.view.fleet import last_line, light
from pi_subagents.view.fleet_table import heading
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


PASSED, FAILED = Checked("pytest -q", 0, "ok"), Checked("pytest -q", 1, "1 failed")
CHANGED = "3 files changed, +40 \N{MINUS SIGN}7"


@pytest.mark.parametrize(
    ("fields", "work"),
    [
        ({}, ""),
        ({"checked": PASSED}, "checked"),
        ({"changes": CHANGED}, f"{CHANGED}, claimed, not checked"),
        ({"changes": CHANGED, "checked": PASSED}, f"{CHANGED}, checked"),
        ({"changes": CHANGED, "checked": FAILED, "status": "failed"}, f"{CHANGED}, check failed"),
        ({"changes": CHANGED, "status": "aborted"}, CHANGED),
    ],
)
def test_what_was_changed_is_said_and_whether_it_was_checked_or_is_only_claimed(
    fields: dict[str, object], work: str
) -> None:
    result = replace(DONE, **fields)
    run = RunRecord("1" * 32, RunMeta(name="build"), result=result)
    assert result.work == light(run).work == work
    assert summary_line(result).endswith(f") [{work}]" if work else ")")
    assert last_line(light(run)).startswith(work)
    assert work in heading(run, 0)
    value = delegation_to_json([result], [Window(WindowTitle("n"), work=result.work)], Settings())
    details = value["details"]
    assert isinstance(details, dict)
    (told,) = details["results"]
    assert told.get("changes", "") == result.changes
    assert ("checked" in told) is (result.checked is not None)
    shown = short_results(details, "")["results"]
    assert isinstance(shown, list)
    checked = shown[0].get("checked")
    assert checked == (
        result.checked
        and {
            "passed": result.checked.passed,
            "exitCode": result.checked.exit_code,
            "command": "pytest -q",
            "tail": "" if result.checked.passed else "1 failed",
        }
    )
    assert row_to_json(run).get("changes", "") == result.changes
    output = output_to_json([run], TextPart("Built.", 6), Settings())
    texts = [each["text"] for each in say_how_it_stands(output)["content"]]
    assert (f"(Its work: {work})" in texts) is bool(work)


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
