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

from pi_subagents.core.session.next_calls import read_on
from pi_subagents.service.tools.outputs import answer_text, sendable, structured
from pi_subagents.service.tools.registry import find_tool
from pi_subagents.view.answers import MAX_ANSWER, MAX_LISTED_OUTPUT, MAX_OUTPUT
from pi_subagents.view.inline_answers import shortened_answer

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
SHORT_ENDING = {"durationMs": 5, "usage": {"input": 1, "output": 1, "totalTokens": 2}}
SHORT_COUNTS = {"completed": 1, "total": 1}


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
    return {
        "sessionId": "s", "runId": "r", "preset": "p", "task": "t", "cwd": "/x",
        "resolvedModel": "m", "status": "completed", "createdAt": 1, "startedAt": 2,
        "finishedAt": 3, "stopReason": "stop", "output": output, **SHORT_ENDING,
        "runDir": "/runs/r", **more,
    }  # fmt: skip


def said(name: str, given_answer: dict[str, object]) -> Any:
    """Return the structured value of an answer, which is what the schema says."""
    tool = find_tool(name)
    value = structured(tool, given_answer)
    Draft202012Validator(tool.returns).validate(value)
    return value


def delegated(*outputs: str, each: int, call: int = 12_000) -> list[dict[str, Any]]:
    """Return the results that a host gets of tasks with these outputs."""
    details = {
        "status": "done",
        "maxLines": 8,
        "windows": [{"title": "a"}],
        "inlineAnswers": {"each": each, "call": call},
        "sessionIds": ["s"] * len(outputs),
        "results": [entry(output) for output in outputs],
    }
    value: Any = said(tool_names.DELEGATE, answer(details))
    assert {**value, "results": []} == {"status": "done", "results": []}
    results: list[dict[str, Any]] = value["results"]
    return results


def cut(character: str, most: int) -> str:
    """Return an output of one character more than there may be, as it is shown."""
    return shortened_answer(character * (most + 1), most, "s")


def told(output: str, **more: Any) -> dict[str, Any]:
    return {"name": "a", "sessionId": "s", "status": "completed", "output": output,
            **SHORT_ENDING, **more}  # fmt: skip


def test_outputs_of_tasks_have_the_room_of_the_text_and_nothing_empty_is_told() -> None:
    assert delegated("x" * 9, "y" * 10, each=9, call=18) == [
        told("x" * 9),
        told(shortened_answer("y" * 10, 9, "s"), outputTruncated=True),
    ]
    assert delegated("x" * 9, "y" * 10, each=9, call=12) == [
        told(shortened_answer("x" * 9, 6, "s"), outputTruncated=True),
        told(shortened_answer("y" * 10, 6, "s"), outputTruncated=True),
    ]


@pytest.mark.parametrize(("count", "most"), [(1, MAX_ANSWER), (2, MAX_OUTPUT)])
def test_outputs_are_bounded_where_the_text_has_none(count: int, most: int) -> None:
    whole, long = "x" * most, "x" * (most + 1)
    assert delegated(*[whole] * count, each=0) == [told(whole)] * count
    cut = told(shortened_answer(long, most, "s"), outputTruncated=True)
    assert delegated(*[long] * count, each=0) == [cut] * count


def test_what_was_asked_for_is_not_repeated_and_an_answer_that_is_empty_is_one() -> None:
    result = {**row(""), "status": "failed", "nextCall": "go on", "model": "m/m", "value": None}
    details = {"mode": "single", "inlineAnswers": {"each": 9, "call": 9}, "results": [result]}
    (told_result,) = said(tool_names.SUBAGENT, answer(details))["results"]
    assert told_result == {
        "sessionId": "s", "preset": "p", "status": "failed", "createdAt": 1, "startedAt": 2,
        "finishedAt": 3, "stopReason": "stop", **SHORT_ENDING, "nextCall": "go on",
        "model": "m/m", "value": None, "paths": result["paths"],
    }  # fmt: skip


def test_a_text_is_the_first_block_and_what_is_said_beside_it_is_not_part_of_it() -> None:
    details = {"sessionId": "s", "status": "completed", "taskName": "a", "runCount": 1,
               "maxLines": 8, "totalCharacters": 5}  # fmt: skip
    given_answer = answer(details, "hello", "(There is more.)")
    assert answer_text(given_answer) == "hello"
    assert said(tool_names.GET_OUTPUT, given_answer) == {
        "sessionId": "s", "status": "completed", "taskName": "a", "runCount": 1,
        "totalCharacters": 5, "text": "hello",
    }  # fmt: skip


def test_a_background_run_is_told_with_its_directory_alone() -> None:
    details = {**row("x" * (MAX_ANSWER + 1)), "counts": COUNTS}
    assert said(tool_names.BACKGROUND, answer(details)) == told_row(
        cut("x", MAX_ANSWER), outputTruncated=True, counts=SHORT_COUNTS
    )


@pytest.mark.parametrize("tool", [tool_names.BACKGROUND_STATUS, tool_names.BACKGROUND_STOP])
@pytest.mark.parametrize(("count", "most"), [(1, MAX_ANSWER), (2, MAX_LISTED_OUTPUT)])
def test_listed_runs_are_bounded(tool: str, count: int, most: int) -> None:
    details = {"counts": COUNTS, "runs": [row("x" * (most + 1))] * count}
    shown = cut("x", most) if count == 1 else "x" * most
    assert said(tool, answer(details)) == {
        "counts": SHORT_COUNTS,
        "runs": [told_row(shown, outputTruncated=True)] * count,
    }


def test_what_became_of_a_message_is_told_as_it_is() -> None:
    details = {
        "sessionId": "s",
        "runId": "r",
        "taskName": "a",
        "status": "accepted",
        "reason": None,
    }
    assert said(tool_names.STEER, answer(details, "Accepted.")) == {
        key: value for key, value in details.items() if value is not None
    }


def test_profiles_are_told_as_they_are() -> None:
    details = {"count": 1, "profiles": {"a": "A"}, "scopes": {"a": "global"}, "problems": ["p"]}
    assert said(tool_names.LIST_PROFILES, answer(details)) == details


ANY_TEXT = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@thoroughly
@given(VALUES)
def test_whatever_a_child_said_can_be_encoded(value: object) -> None:
    heard = sendable(value)
    assert json.loads(json.dumps(heard, ensure_ascii=False).encode("utf-8")) == heard
    assert sendable(heard) == heard


@thoroughly
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_that_can_be_sent_is_sent_as_it_is(text: str) -> None:
    assert sendable({"a": [text]}) == {"a": [text]}


def test_half_a_character_becomes_the_sign_for_one() -> None:
    assert sendable(["a\ud83db"]) == ["a\N{REPLACEMENT CHARACTER}b"]


@pytest.mark.parametrize(
    ("value", "output", "told"),
    [
        ({"n": 1}, '{"n": 1}', {"value": {"n": 1}, "output": '{"n": 1}'}),
        (None, "It is nothing.", {"value": None, "output": "It is nothing."}),
        (
            "v" * MAX_ANSWER, "Long.",
            {
                "valueLeftOut": True, "output": "Long.",
                "nextCall": read_on("s", len("Long.\n\n"), MAX_ANSWER + 2),
            },
        ),
        (
            "v" * (MAX_ANSWER - 10), "Two words more.",
            {
                "value": "v" * (MAX_ANSWER - 10), "outputTruncated": True,
                "output": shortened_answer("Two words more.", 8, "s"),
            },
        ),
    ],
)  # fmt: skip
def test_a_value_counts_with_its_text_and_is_there_whole_or_not_at_all(
    value: object, output: str, told: dict[str, object]
) -> None:
    given = {**entry(output), "value": value}
    unbounded = {"each": 0, "call": 0}
    details = {"status": "done", "inlineAnswers": unbounded, "results": [given]}
    heard: Any = said("delegate_to_subagents", answer(details))
    (result,) = heard["results"]
    kept = ("value", "valueLeftOut", "nextCall", "output", "outputTruncated")
    assert {key: result[key] for key in kept if key in result} == told
