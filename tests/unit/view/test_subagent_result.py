from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.preset.request import PresetTask, SubagentRequest
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.settings import InlineAnswers, Settings
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.core.value import replace
from pi_subagents.view import messages as view_messages
from pi_subagents.view.answers import MAX_ANSWER, subagent_to_json

TASK = PresetTask("scout", "look", "big", "/there")
RESULT = RunResult(
    run_id="r1",
    session_id="s1",
    name="scout",
    status="completed",
    output="nothing",
    notes=("a note",),
    exit_code=0,
    stop_reason="stop",
    usage=Usage(input=1, total_tokens=1),
    started_at_ms=10,
    finished_at_ms=30,
    duration_ms=20,
)
MODELS = ("big", "acme/big")


AS_IT_WAS = Settings(inline_answers=InlineAnswers(0))


def text_of(value: dict[str, Any]) -> str:
    (content,) = value["content"]
    return str(content["text"])


def texts_of(value: dict[str, Any]) -> list[str]:
    return [content["text"] for content in value["content"]]


def single(result: RunResult, settings: Settings = AS_IT_WAS) -> dict[str, Any]:
    request = SubagentRequest((TASK,), parallel=False)
    return subagent_to_json(request, [result], [MODELS], settings)


def test_one_task_is_told_by_its_answer() -> None:
    assert single(RESULT) == {
        "content": [{"type": "text", "text": "nothing"}],
        "details": {
            "mode": "single",
            "inlineAnswers": {"each": 0, "call": 12_000},
            "results": [
                {
                    "preset": "scout",
                    "task": "look",
                    "cwd": "/there",
                    "requestedModel": "big",
                    "resolvedModel": "acme/big",
                    "runId": "r1",
                    "sessionId": "s1",
                    "status": "completed",
                    "output": "nothing",
                    "errorMessage": None,
                    "nextCall": None,
                    "exitCode": 0,
                    "stopReason": "stop",
                    "startedAt": 10,
                    "finishedAt": 30,
                    "durationMs": 20,
                    "model": None,
                    "usage": usage_to_json(RESULT.usage),
                    "notes": ["a note"],
                }
            ],
        },
        "isError": False,
    }


def test_a_failure_is_told_in_place_of_the_answer_with_what_was_said() -> None:
    failed = replace(RESULT, status="failed", output="", error_message="no model")
    assert text_of(single(failed)) == "Sub-agent failed: no model"
    lost = replace(RESULT, status="interrupted", error_message="lost")
    assert text_of(single(lost)) == "Sub-agent failed: lost\n\nnothing"
    assert single(lost)["details"]["results"][0]["status"] == "failed"
    aborted = replace(RESULT, status="aborted", output="", error_message="stopped")
    assert text_of(single(aborted)) == "Sub-agent aborted: stopped"


def test_an_empty_answer_has_a_placeholder_and_a_long_one_says_where_the_rest_is() -> None:
    assert text_of(single(replace(RESULT, output=""))) == core_messages.NO_TEXT_OUTPUT
    whole = "x" * MAX_ANSWER
    assert text_of(single(replace(RESULT, output=whole))) == whole
    long = single(replace(RESULT, output=whole + "y"))
    cut = view_messages.background_output_cut(MAX_ANSWER, MAX_ANSWER + 1, "s1")
    assert text_of(long) == f"{whole}\n{cut}"
    assert long["details"]["results"][0]["output"] == whole + "y"


def test_several_are_told_under_their_presets_in_their_order() -> None:
    request = SubagentRequest((TASK, with_preset("judge"), TASK), parallel=True)
    results = [
        RESULT,
        replace(RESULT, status="failed", output="", error_message="no model"),
        replace(RESULT, output="also nothing"),
    ]
    models = [MODELS, (None, None), MODELS]
    heard: dict[str, Any] = subagent_to_json(request, results, models, AS_IT_WAS)
    assert text_of(heard) == (
        "2 of 3 sub-agents completed.\n\n"
        "[1] scout: completed\nnothing\n\n"
        "[2] judge: failed\nSub-agent failed: no model\n\n"
        "[3] scout: completed\nalso nothing"
    )
    assert heard["details"]["mode"] == "parallel"
    assert [(r["preset"], r["resolvedModel"]) for r in heard["details"]["results"]] == [
        ("scout", "acme/big"),
        ("judge", None),
        ("scout", "acme/big"),
    ]


def test_answers_stand_behind_a_line_for_each() -> None:
    alone = texts_of(single(RESULT, Settings()))
    assert alone[0] == "scout: completed (session: s1)"
    assert alone[1].split("\n")[2:] == [
        f"{mark_of(alone[1])} 1. scout: completed · 1 tokens",
        "nothing",
    ]
    request = SubagentRequest((TASK, with_preset("judge")), parallel=True)
    failed = replace(RESULT, status="failed", output="", error_message="no model")
    heard = texts_of(subagent_to_json(request, [RESULT, failed], [MODELS] * 2, Settings()))
    assert heard[0] == (
        "1 of 2 sub-agents completed.\n\n"
        "[1] scout: completed (session: s1)\n\n"
        "[2] judge: failed — no model (session: s1)"
    )
    mark = mark_of(heard[1])
    assert heard[1].split("\n")[-1] == f"{mark} 2. judge: failed · 1 tokens · no answer"


def mark_of(answers: str) -> str:
    return answers.split(" ")[4]


def with_preset(name: str) -> PresetTask:
    return PresetTask(name, TASK.task)


statuses = st.sampled_from(["completed", "failed", "aborted", "interrupted"])


@thoroughly
@given(st.lists(st.tuples(statuses, texts, texts), min_size=1, max_size=4), st.booleans())
def test_any_results_can_be_told_as_json(
    outcomes: list[tuple[Any, str, str]], parallel: bool
) -> None:
    chosen = outcomes if parallel else outcomes[:1]
    results = [
        replace(RESULT, status=status, output=output, error_message=error)
        for status, output, error in chosen
    ]
    request = SubagentRequest((TASK,) * len(chosen), parallel=parallel)
    answer = subagent_to_json(request, results, [MODELS] * len(chosen), AS_IT_WAS)
    heard = json.loads(json.dumps(answer))
    words = [result["status"] for result in heard["details"]["results"]]
    assert set(words) <= {"completed", "failed", "aborted"}
    assert text_of(heard)
