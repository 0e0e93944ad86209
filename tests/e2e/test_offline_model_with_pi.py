"""The real pi talks to the offline model: what the other rooms build on."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.offline import pi_arguments

PI = os.environ.get("PI_SUBAGENTS_PI", "")

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(
        not PI, reason="PI_SUBAGENTS_PI is not set: `make test` sets up the real pi"
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    agent = tmp_path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text('{"retry": {"baseDelayMs": 10}}')
    for name, text in {
        "docs/guide.md": "# Guide\n\n## Start\n",
        "src/a.py": "x = 1  # TODO\n",
        "src/b.py": "y = 2\n",
        "LICENSE": "MIT License\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


class Ran:
    """One finished pi process: its assistant messages, tool results and model requests."""

    def __init__(
        self, project: Path, prompt: str, script: object = None, *extra: str, **env: str
    ) -> None:
        with OfflineModel(None if script is None else parse_script(script)) as model:
            done = subprocess.run(
                [
                    *shlex.split(PI),
                    "--mode",
                    "json",
                    "-p",
                    "--no-session",
                    "--no-approve",
                    *pi_arguments(),
                    *extra,
                ],
                input=prompt.encode(),
                capture_output=True,
                cwd=project,
                timeout=100,
                check=False,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(project / "home"),
                    "PI_OFFLINE": "1",
                    "PI_SKIP_VERSION_CHECK": "1",
                    "PI_TELEMETRY": "0",
                    URL_VARIABLE: model.url_for("run"),
                    **env,
                },
            )
            self.requests = model.requests("run")
        assert (done.returncode, done.stderr) == (0, b"")
        records = [json.loads(line) for line in done.stdout.split(b"\n") if line]
        messages = [record["message"] for record in records if record["type"] == "message_end"]
        self.assistant = [message for message in messages if message["role"] == "assistant"]
        self.tools = [message for message in messages if message["role"] == "toolResult"]
        self.retries = sum(record["type"] == "auto_retry_start" for record in records)

    def text(self) -> str:
        return "".join(part.get("text", "") for part in self.assistant[-1]["content"])


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        (
            "read LICENSE and then count the lines of Python code in src",
            "I read 1 line of LICENSE:\n\nMIT License\n\nThe Python files in src have 2 lines.",
        ),
        (
            "summarise the headings of docs/guide.md and then list src and then search for TODO in src",
            (
                "docs/guide.md has 2 headings:\n- Guide\n  - Start\n\n"
                "src holds 2 entries:\n- a.py\n- b.py\n\n"
                '"TODO" is on 1 line in src:\nsrc/a.py:1:x = 1  # TODO'
            ),
        ),
    ],
)
def test_a_plain_request_is_answered_from_real_tools(project: Path, prompt: str, answer: str):
    ran = Ran(project, prompt)

    assert ran.text() == answer
    assert [message["stopReason"] for message in ran.assistant] == ["toolUse", "stop"]


def test_a_tool_that_failed_is_not_taken_for_an_answer(project: Path):
    ran = Ran(project, "list nope and then read nope.txt")

    assert [message["isError"] for message in ran.tools] == [True, True]
    assert ran.text().startswith("The bash tool failed; it said:\n")
    assert "\n\nThe read tool failed; it said:\n" in ran.text()


def test_a_child_without_tools_says_so(project: Path):
    ran = Ran(project, "list docs", None, "--tools", "")

    assert ran.text().startswith(
        "This needs the bash tool, which I was not given: nothing was done."
    )


def test_thinking_text_tool_calls_and_usage_arrive(project: Path):
    calls = [
        {"name": "bash", "arguments": {"command": "echo one"}},
        {"name": "read", "arguments": {"path": "LICENSE"}},
    ]
    usage = {"input": 100, "output": 20, "cacheRead": 50}
    ran = Ran(
        project,
        "go",
        [
            {"thinking": "hm", "text": "I will", "toolCalls": calls, "usage": usage},
            {"text": "done"},
        ],
    )

    first = ran.assistant[0]
    kinds: list[dict[str, Any]] = [
        {key: part[key] for key in part if key in {"type", "thinking", "text", "name", "arguments"}}
        for part in first["content"]
    ]
    assert kinds == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I will"},
        {"type": "toolCall", **calls[0]},
        {"type": "toolCall", **calls[1]},
    ]
    assert {
        key: first["usage"][key] for key in ("input", "output", "cacheRead", "totalTokens")
    } == {
        "input": 100,
        "output": 20,
        "cacheRead": 50,
        "totalTokens": 170,
    }
    assert [message["content"][0]["text"] for message in ran.tools] == ["one\n", "MIT License\n"]
    assert (ran.text(), len(ran.requests)) == ("done", 2)


def test_passing_faults_are_retried_and_the_next_turn_answers(project: Path):
    never = {"name": "bash", "arguments": {"command": "touch never; exit 1"}}
    ran = Ran(
        project,
        "go",
        [
            {"error": {"status": 500, "message": "oops"}},
            {"text": "cut " * 50, "cut": True},
            {"toolCalls": [never], "cut": True},
            {"text": "recovered"},
        ],
    )

    assert (ran.text(), ran.retries, len(ran.requests)) == ("recovered", 3, 4)
    assert ran.tools == []


def test_a_proxy_in_the_environment_does_not_hide_the_model(project: Path):
    dead = "http://127.0.0.1:9"

    assert (
        Ran(project, "go", [{"text": "ok"}], HTTP_PROXY=dead, NO_PROXY="example.com").text() == "ok"
    )
