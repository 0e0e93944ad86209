"""The real pi talks to the offline model: what the other rooms build on."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.engines.offline_model.provider import URL_VARIABLE, pi_arguments
from pi_subagents.engines.offline_model.script import parse_script
from pi_subagents.engines.offline_model.server import OfflineModel

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

    def stops(self) -> list[tuple[str, str | None]]:
        return [(message["stopReason"], message.get("errorMessage")) for message in self.assistant]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("list docs", "docs holds 1 entry:\n- guide.md"),
        ("count the lines of Python code in src", "The Python files in src have 2 lines."),
        ("search for TODO in src", '"TODO" is on 1 line in src:\nsrc/a.py:1:x = 1  # TODO'),
        ("read LICENSE", "I read 1 line of LICENSE:\n\nMIT License"),
        (
            "summarise the headings of docs/guide.md and then list src",
            "docs/guide.md has 2 headings:\n- Guide\n  - Start\n\nsrc holds 2 entries:\n- a.py\n- b.py",
        ),
    ],
)
def test_a_plain_request_is_answered_from_real_tools(project: Path, prompt: str, answer: str):
    ran = Ran(project, prompt)

    assert ran.text() == answer
    assert [message["stopReason"] for message in ran.assistant] == ["toolUse", "stop"]


@pytest.mark.parametrize(("prompt", "tool"), [("list nope", "bash"), ("read nope.txt", "read")])
def test_a_tool_that_failed_is_not_taken_for_an_answer(project: Path, prompt: str, tool: str):
    ran = Ran(project, prompt)

    assert [message["isError"] for message in ran.tools] == [True]
    assert ran.text().startswith(f"The {tool} tool failed; it said:\n")


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


def test_a_400_is_the_end(project: Path):
    ran = Ran(project, "go", [{"error": {"status": 400, "message": "bad thing"}}])

    ((stop, message),) = ran.stops()
    assert (stop, ran.retries) == ("error", 0)
    assert message is not None
    assert "bad thing" in message


@pytest.mark.parametrize(
    "fault",
    [
        {"error": {"status": 429, "message": "slow down"}},
        {"error": {"status": 500, "message": "oops"}},
        {"text": "cut " * 50, "cut": True},
        {
            "toolCalls": [{"name": "bash", "arguments": {"command": "touch never; exit 1"}}],
            "cut": True,
        },
    ],
)
def test_a_passing_fault_is_retried_and_the_next_turn_answers(
    project: Path, fault: dict[str, object]
):
    ran = Ran(project, "go", [fault, {"text": "recovered"}])

    assert (ran.text(), ran.retries, len(ran.requests)) == ("recovered", 1, 2)
    assert ran.tools == []


def test_a_length_stop_and_an_empty_answer_arrive_as_such(project: Path):
    assert Ran(project, "go", [{"text": "half", "stop": "length"}]).stops() == [("length", None)]
    assert Ran(project, "go", [{}]).assistant[0]["content"] == []


def test_a_prompt_arrives_byte_equal_and_so_does_a_large_answer(project: Path):
    prompt = "--approve é 𝄞 \u2028 \x85 'q' \"q\" \t\n\n end"

    assert Ran(project, prompt, [{"echo": True}]).text() == prompt
    assert len(Ran(project, "go", [{"fillKB": 300}]).text()) == 300 * 1024


def test_a_proxy_in_the_environment_does_not_hide_the_model(project: Path):
    dead = "http://127.0.0.1:9"

    assert (
        Ran(project, "go", [{"text": "ok"}], HTTP_PROXY=dead, NO_PROXY="example.com").text() == "ok"
    )
