"""
An engine is a folder and a line: a real supervisor runs its children, and nothing else is touched.

A copy of our sources gets both, and a program that delegates runs from that copy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.many_tasks import QUICK_PI_COMMAND
from tests.fakes.mcp_host import SOURCES
from tests.fakes.workplace import comparable

from pi_subagents.core import messages
from pi_subagents.core.answer.messages import answer_does_not_fit, answer_in_json
from pi_subagents.core.run.result import RunResult, result_from_json
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.service import messages as messages_of_service

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

DEMO = Path(__file__).parents[1] / "fakes" / "demo_engine"
LINE = '    "demo": "pi_subagents.engines.demo",'
PROGRAM = """
import json, sys
from pi_subagents import Task, delegate_sync
from pi_subagents.core.run.result import result_to_json
words, schema = sys.argv[2:], json.loads(sys.argv[1])
tasks = [Task(word, word, output_schema=schema) for word in words]
for result in delegate_sync(tasks, engine="demo").results:
    print(json.dumps(result_to_json(result)))
"""
MIXED = """
import json, sys
from pi_subagents import Task, delegate_sync
from pi_subagents.core.run.result import result_to_json
for tasks in json.loads(sys.argv[1]):
    tasks = [Task(**task) for task in tasks]
    for result in delegate_sync(tasks, concurrency=3).results:
        print(json.dumps(result_to_json(result)))
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Our sources with one more engine."""
    copy = Path(shutil.copytree(SOURCES / "pi_subagents", tmp_path / "src" / "pi_subagents"))
    shutil.copytree(DEMO, copy / "engines" / "demo")
    table = copy / "engines" / "table.py"
    lines, end, functions = table.read_text("utf-8").partition("\n}\n")
    assert end
    table.write_text(f"{lines}\n{LINE}{end}{functions}", "utf-8")
    return copy.parent


def test_an_engine_can_be_as_small_as_this() -> None:
    assert sum(len(path.read_text("utf-8").splitlines()) for path in DEMO.glob("*.py")) <= 150


def ended(name: str, status: Any, *, calls: int = 1, **more: Any) -> RunResult:
    used = Usage(output=7, total_tokens=7)
    common: dict[str, Any] = {"usage": used, "tool_call_count": calls, **more}
    return RunResult(run_id="", session_id="", name=name, status=status, **common)


def come_to(line: str) -> RunResult:
    """Return a result without what differs: one that is stopped may exit first, or be ended."""
    result = result_from_json(json.loads(line))
    assert result is not None
    return replace(comparable(result), exit_code=None, signal_name="")


def delegated(
    place: Workplace, sources: Path, *words: str, schema: object = None
) -> list[RunResult]:
    return list(map(come_to, run(place, sources, PROGRAM, json.dumps(schema), *words)))


def run(place: Workplace, sources: Path, program: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=place.project,
        env={**place.env, "PYTHONPATH": str(sources), "PI_SUBAGENTS_PI": QUICK_PI_COMMAND},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_without_a_tool_for_it_the_prompt_says_what_the_answer_has_to_be(
    place: Workplace, sources: Path
) -> None:
    """The child repeats its prompt, so that the schema in it is the last object of its answer."""
    for wanted, fits in (("type", True), ("another", False)):
        schema = {"type": "object", "required": [wanted]}
        (result,) = delegated(place, sources, "hello", schema=schema)
        assert result.output == f"You said: hello\n\n{answer_in_json(json.dumps(schema))}"
        assert (result.has_value, result.value) == (fits, schema if fits else None)
        why = "" if fits else answer_does_not_fit("'another' is a required property")
        assert (result.completed, result.error_message) == (fits, why)


def test_its_children_answer_fail_and_are_kept_from_looping(
    place: Workplace, sources: Path
) -> None:
    results = delegated(place, sources, "hello", "fail", "loop", "repeat")
    said: dict[str, Any] = {"stop_reason": "stop", "message_count": 1}
    assert results == [
        ended("hello", "completed", output="You said: hello", **said),
        ended(
            "fail",
            "failed",
            calls=0,
            error_message="the model is gone",
            stop_reason="error",
            message_count=1,
        ),
        ended("loop", "failed", calls=9, error_message=messages.LOOP_DETECTED),
        # It had made its answer before it could be stopped, and an answer counts.
        ended("repeat", "completed", calls=9, output="You said: repeat", **said),
    ]


def test_one_call_has_children_of_several_engines_and_a_session_keeps_its_own(
    place: Workplace, sources: Path
) -> None:
    profiles = place.home / ".pi" / "agent" / "agent-profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    (profiles / "shown.md").write_text("---\nname: shown\nengine: demo\nmodel: m\n---\n")
    first = [
        {"name": "one", "prompt": "hello", "engine": "demo"},
        {"name": "two", "prompt": "hello"},
        {"name": "three", "prompt": "hello again", "profile": "shown"},
        {"name": "four", "prompt": "hello", "profile": "shown", "engine": "pi"},
    ]
    results = [json.loads(line) for line in run(place, sources, MIXED, json.dumps([first]))]
    assert [each["name"] for each in results] == ["one", "two", "three", "four"]
    quick = [json.loads(line) for line in run(place, sources, MIXED, json.dumps([[first[1]]]))]
    assert [each["output"] for each in results] == [
        "You said: hello",
        quick[0]["output"],
        "You said: hello again",
        quick[0]["output"],
    ]
    left_out = messages_of_service.note_other_engine("shown", ("model",), "demo", "pi")
    assert [each.get("notes", []) for each in results] == [[], [], [], [left_out]]
    session = results[0]["sessionId"]
    again = [
        [{"name": "on", "prompt": "fail", "resume": session}],
        [{"name": "over", "prompt": "hello", "resume": session, "engine": "pi"}],
    ]
    kept, changed = (json.loads(line) for line in run(place, sources, MIXED, json.dumps(again)))
    assert (kept["sessionId"], changed["sessionId"]) == (session, session)
    engines = [
        json.loads((place.store.run_dir(each["runId"]).path / "meta.json").read_text())["engine"]
        for each in (*results, kept, changed)
    ]
    assert engines == ["demo", "pi", "demo", "pi", "demo", "pi"]
    why = messages_of_service.session_of_other_engine("demo")
    assert changed["notes"] == [messages_of_service.note_retold(why)]
