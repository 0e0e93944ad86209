"""What structured hosts get of an answer: bounded, without what is for painting, encodable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # has no types
from tests import tool_names
from tests.unit.core.given_values import thoroughly

from pi_subagents.service.tools.outputs import answer_text, sendable, structured
from pi_subagents.service.tools.registry import find_tool
from pi_subagents.view.answers import MAX_ANSWER, MAX_LISTED_OUTPUT, MAX_OUTPUT

USAGE = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
         "cost": {"total": 0.0}}  # fmt: skip
ENDING: dict[str, Any] = {
    "errorMessage": None,
    "exitCode": 0,
    "durationMs": 5,
    "usage": USAGE,
    "notes": [],
}
COUNTS = {"running": 0, "completed": 1, "failed": 0, "aborted": 0, "total": 1}


def answer(details: dict[str, Any], *texts: str) -> dict[str, object]:
    content = [{"type": "text", "text": text} for text in texts or ("text",)]
    return {"content": content, "details": details, "isError": False}


def entry(output: str) -> dict[str, Any]:
    return {"name": "a", "sessionId": "s", "runId": "r", "status": "completed", "output": output,
            **ENDING}  # fmt: skip


def row(output: str) -> dict[str, Any]:
    return {
        "sessionId": "s", "runId": "r", "preset": "p", "task": "t", "cwd": "/x",
        "requestedModel": None, "resolvedModel": "m", "status": "completed", "createdAt": 1,
        "startedAt": 2, "finishedAt": 3, "stopReason": "stop", "output": output, **ENDING,
        "paths": {"runDir": "/runs/r", "meta": "/runs/r/meta.json"},
    }  # fmt: skip


def told_row(output: str, **more: Any) -> dict[str, Any]:
    told = {**row(output), "runDir": "/runs/r", **more}
    del told["paths"]
    return told


def told(name: str, given_answer: dict[str, object]) -> object:
    """Return the structured value of an answer, which is what the schema says."""
    tool = find_tool(name)
    value = structured(tool, given_answer)
    Draft202012Validator(tool.returns).validate(value)
    return value


@pytest.mark.parametrize(("count", "most"), [(1, MAX_ANSWER), (2, MAX_OUTPUT)])
def test_outputs_of_tasks_are_bounded_and_windows_left_out(count: int, most: int) -> None:
    details = {
        "status": "done",
        "maxLines": 8,
        "windows": [{"title": "a"}],
        "sessionIds": ["s"] * count,
        "results": [entry("x" * (most + 1))] * count,
    }
    assert told(tool_names.DELEGATE, answer(details)) == {
        "status": "done",
        "sessionIds": ["s"] * count,
        "results": [{**entry("x" * most), "outputTruncated": True}] * count,
    }
    details["results"] = [entry("x" * most)] * count
    whole = {key: details[key] for key in ("status", "sessionIds", "results")}
    assert told(tool_names.DELEGATE, answer(details)) == whole


def test_a_text_is_the_first_block_and_what_is_said_beside_it_is_not_part_of_it() -> None:
    details = {"sessionId": "s", "status": "completed", "taskName": "a", "runCount": 1,
               "maxLines": 8, "totalCharacters": 5}  # fmt: skip
    given_answer = answer(details, "hello", "(There is more.)")
    assert answer_text(given_answer) == "hello"
    assert told(tool_names.GET_OUTPUT, given_answer) == {
        "sessionId": "s", "status": "completed", "taskName": "a", "runCount": 1,
        "totalCharacters": 5, "text": "hello",
    }  # fmt: skip


def test_a_background_run_is_told_with_its_directory_alone() -> None:
    details = {**row("x" * (MAX_ANSWER + 1)), "counts": COUNTS}
    assert told(tool_names.BACKGROUND, answer(details)) == told_row(
        "x" * MAX_ANSWER, outputTruncated=True, counts=COUNTS
    )


@pytest.mark.parametrize("tool", [tool_names.BACKGROUND_STATUS, tool_names.BACKGROUND_STOP])
@pytest.mark.parametrize(("count", "most"), [(1, MAX_ANSWER), (2, MAX_LISTED_OUTPUT)])
def test_listed_runs_are_bounded(tool: str, count: int, most: int) -> None:
    details = {"counts": COUNTS, "runs": [row("x" * (most + 1))] * count}
    assert told(tool, answer(details)) == {
        "counts": COUNTS,
        "runs": [told_row("x" * most, outputTruncated=True)] * count,
    }


def test_what_became_of_a_message_is_told_as_it_is() -> None:
    details = {
        "sessionId": "s",
        "runId": "r",
        "taskName": "a",
        "status": "accepted",
        "reason": None,
    }
    assert told(tool_names.STEER, answer(details, "Accepted.")) == details


def test_profiles_are_told_as_they_are() -> None:
    details = {"count": 1, "profiles": {"a": "A"}, "scopes": {"a": "global"}, "problems": ["p"]}
    assert told(tool_names.LIST_PROFILES, answer(details)) == details


ANY_TEXT = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@thoroughly
@given(VALUES)
def test_whatever_a_child_said_can_be_encoded(value: object) -> None:
    told = sendable(value)
    assert json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8")) == told
    assert sendable(told) == told


@thoroughly
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_that_can_be_sent_is_sent_as_it_is(text: str) -> None:
    assert sendable({"a": [text]}) == {"a": [text]}


def test_half_a_character_becomes_the_sign_for_one() -> None:
    assert sendable(["a\ud83db"]) == ["a\N{REPLACEMENT CHARACTER}b"]
