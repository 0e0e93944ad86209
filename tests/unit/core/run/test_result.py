from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, counts, json_values, texts, thoroughly, usages

from pi_subagents.core.run.outcome import Status
from pi_subagents.core.run.result import (
    RunResult,
    result_from_json,
    result_to_json,
    tool_status,
)
from pi_subagents.core.usage import Usage

WHOLE = RunResult(
    run_id="a" * 32,
    session_id="b" * 16,
    name="build",
    status="failed",
    output="half",
    error_message="429",
    notes=("one", "two"),
    exit_code=143,
    signal_name="SIGTERM",
    stop_reason="error",
    provider="p",
    model="m",
    usage=Usage(1, 2, 3, 4, 10, 0.5),
    message_count=7,
    tool_call_count=3,
    started_at_ms=1700000000000,
    finished_at_ms=1700000001500,
    duration_ms=1500,
    artifacts_truncated=True,
    resumed="native",
    session_seal="5ea1",
)
# result.json of version 1, kept for ever: what was written once must stay readable.
WHOLE_JSON = {
    "schemaVersion": 1,
    "runId": "a" * 32,
    "sessionId": "b" * 16,
    "name": "build",
    "status": "failed",
    "output": "half",
    "errorMessage": "429",
    "notes": ["one", "two"],
    "exitCode": 143,
    "signal": "SIGTERM",
    "stopReason": "error",
    "provider": "p",
    "model": "m",
    "usage": {
        "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": {"total": 0.5},
    },
    "messageCount": 7,
    "toolCallCount": 3,
    "startedAt": 1700000000000,
    "finishedAt": 1700000001500,
    "durationMs": 1500,
    "artifactsTruncated": True,
    "resumed": "native",
    "sessionSeal": "5ea1",
}  # fmt: skip
statuses = st.sampled_from(get_args(Status))
results = st.builds(
    RunResult,
    run_id=texts,
    session_id=texts,
    name=texts,
    status=statuses,
    output=texts,
    error_message=texts,
    notes=st.lists(texts, max_size=3).map(tuple),
    exit_code=st.none() | st.integers(0, 255),
    signal_name=texts,
    stop_reason=texts,
    provider=texts,
    model=texts,
    usage=usages,
    message_count=counts,
    tool_call_count=counts,
    started_at_ms=counts,
    finished_at_ms=counts,
    duration_ms=counts,
    artifacts_truncated=st.booleans(),
    resumed=texts,
    session_seal=texts,
)


def test_result_json_stays_as_it_is() -> None:
    assert result_to_json(WHOLE) == WHOLE_JSON
    assert result_from_json(WHOLE_JSON) == WHOLE


def test_a_result_of_the_essentials_has_the_defaults_for_the_rest() -> None:
    least = {"schemaVersion": 1, "runId": "a", "status": "completed"}
    assert result_from_json(least) == RunResult("a", "", "", "completed")


@briefly
@given(results)
def test_what_is_written_can_be_read_back(result: RunResult) -> None:
    assert result_from_json(json.loads(json.dumps(result_to_json(result)))) == result


@pytest.mark.parametrize(
    "change",
    [{"schemaVersion": 2}, {"schemaVersion": None}, {"status": "running"}, {"status": None},
     {"status": ["completed"]}, {"runId": 7}, {"runId": None}],
)  # fmt: skip
def test_what_we_cannot_trust_is_none(change: dict[str, object]) -> None:
    assert result_from_json({**WHOLE_JSON, **change}) is None


@pytest.mark.parametrize("value", [None, [], "x", 1, {}])
def test_what_is_no_result_is_none(value: object) -> None:
    assert result_from_json(value) is None


@thoroughly
@given(st.sampled_from(sorted(WHOLE_JSON)), json_values)
def test_reading_is_total_on_spoiled_fields(key: str, value: object) -> None:
    found = result_from_json({**WHOLE_JSON, key: value})
    assert found is None or isinstance(found, RunResult)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ("planned", "running"),
        ("starting", "running"),
        ("running", "running"),
        ("stopping", "running"),
        ("completed", "completed"),
        ("failed", "error"),
        ("aborted", "error"),
        ("interrupted", "error"),
    ],
)
def test_the_words_of_system_a_for_every_state(status: str, word: str) -> None:
    assert tool_status(status) == word


@pytest.mark.parametrize("status", get_args(Status))
def test_completed_is_only_completed(status: Status) -> None:
    assert RunResult("a", "b", "c", status).completed is (status == "completed")
