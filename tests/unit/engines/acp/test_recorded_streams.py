"""What real agents said, recorded, comes to what it always came to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.golden.acp_reading import STREAMS, read_recording

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = sorted(STREAMS.glob("*.jsonl"))


@pytest.mark.parametrize("stream", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_stream_comes_to_what_it_always_came_to(stream: Path) -> None:
    assert read_recording(stream) == json.loads(stream.with_suffix(".json").read_text("utf-8"))


def outcomes(name: str) -> list[tuple[object, object]]:
    turns = json.loads((STREAMS / f"{name}.json").read_text("utf-8"))
    return [(turn["outcome"]["status"], turn["outcome"]["error_message"]) for turn in turns]


@pytest.mark.parametrize("agent", ["opencode", "codex", "pi", "qwen"])
@pytest.mark.parametrize("why", ["error-400", "error-429-forever-ra1"])
def test_a_failed_model_request_is_no_success_whatever_the_agent_calls_it(
    agent: str, why: str
) -> None:
    first = next(iter(outcomes(f"{agent}-{why}")))
    assert first[0] == "failed"
    assert first[1]


@pytest.mark.parametrize("agent", ["opencode", "codex", "pi"])
def test_a_stream_that_was_cut_and_came_anew_is_in_the_answer_once(agent: str) -> None:
    turn = json.loads((STREAMS / f"{agent}-error-cut-once.json").read_text("utf-8"))[0]
    assert turn["outcome"]["output"] == "part one part two part three"
