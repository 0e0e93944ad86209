"""Real agent hosts, configured by `subagents install`, really delegate: to the real pi."""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import tool_names
from tests.agents.scripted_models import scripted_models
from tests.e2e_mcp.agent_host import AGENT_HOSTS, RECORDER, AgentHost, Desk, desk

from pi_subagents.hosts.catalogue import HOSTS, SERVER_NAME
from pi_subagents.hosts.entry import with_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.pi

QUESTION = "Ask a sub-agent for the number."
TASK = {"name": "counter", "prompt": "Reply with the number."}
OURS = re.compile(r"subagents +mcp")
# What a model may search for that has never heard of us.
SEARCH = {"query": "delegate task to parallel sub-agent"}


@pytest.fixture(params=AGENT_HOSTS)
def host(request: pytest.FixtureRequest) -> AgentHost:
    return AGENT_HOSTS[request.param]


@contextmanager
def at_desk(
    root: Path, host: AgentHost, calls: list[dict[str, Any]], child: list[dict[str, Any]]
) -> Iterator[Desk]:
    """Let the host's model search if it has to, make these calls, and say that it is done."""
    search = [{"toolCalls": [{"name": "ToolSearch", "arguments": SEARCH}]}] * host.searches
    made = [{"toolCalls": [{**call, "name": host.tool(call["name"])}]} for call in calls]
    script = {
        "conversations": [
            {"match": QUESTION, "turns": [*search, *made, {"text": "It said so."}]},
            {"match": TASK["prompt"], "turns": child},
        ],
    }
    with scripted_models(script) as models:
        yield desk(root, host, models)


def delegation() -> dict[str, Any]:
    return {"name": tool_names.DELEGATE, "arguments": {"tasks": [TASK]}}


def test_the_host_is_configured_delegates_and_is_left_as_it_was(
    tmp_path: Path, host: AgentHost
) -> None:
    with at_desk(tmp_path, host, [delegation()], [{"text": "It is 42."}]) as desk:
        installed = desk.subagents("install", host.name, "--yes", "--json")
        assert (installed.returncode, json.loads(installed.stdout)["changed"]) == (0, True)

        listed = desk.host_command("mcp", "list")
        assert host.sign in listed.stdout + listed.stderr
        assert OURS.search(listed.stdout + listed.stderr)

        asked = desk.ask(QUESTION)
        assert asked.returncode == 0, asked.stderr
        assert "It said so." in asked.stdout

        (child,) = desk.models.asked(TASK["prompt"])
        assert TASK["prompt"] in child.said_by("user")[-1]
        heard = desk.models.asked(QUESTION)[-1].last_result
        (run,) = json.loads(desk.subagents("runs", "--json").stdout)["runs"]
        assert run["sessionId"] in heard
        assert "It is 42." in heard
        assert (run["name"], run["status"]) == (TASK["name"], "completed")
        assert desk.subagents("output", run["sessionId"]).stdout.strip() == "It is 42."

        removed = desk.subagents("uninstall", host.name, "--yes", "--json")
        assert json.loads(removed.stdout)["changed"] is True
        assert not OURS.search(desk.host_command("mcp", "list").stdout)


def test_what_install_prints_is_what_the_host_understands(tmp_path: Path, host: AgentHost) -> None:
    with at_desk(tmp_path, host, [delegation()], [{"text": "not asked"}]) as desk:
        shown = json.loads(desk.subagents("install", host.name, "--print", "--json").stdout)
        path = Path(shown["path"])
        assert not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown["snippet"])
        again = desk.subagents("install", host.name, "--yes", "--json")
        assert json.loads(again.stdout)["changed"] is False
        listed = desk.host_command("mcp", "list")
        assert host.sign in listed.stdout + listed.stderr


def test_a_long_call_answers_early_tells_how_far_it_is_and_the_answer_is_fetched(
    tmp_path: Path, host: AgentHost
) -> None:
    wait = {"sessionId": "$SESSION", "waitSeconds": 50}
    fetch: dict[str, Any] = {"name": tool_names.GET_OUTPUT, "arguments": wait}
    until_told = {"command": "until [ -e go ]; do sleep 0.1; done"}
    at_work = {"toolCalls": [{"name": "bash", "arguments": until_told}]}
    child: list[dict[str, Any]] = [at_work, {"text": "It is 42."}]
    with (
        at_desk(tmp_path, host, [delegation(), fetch], child) as desk,
        ThreadPoolExecutor(1) as pool,
    ):
        log = recorded(desk, "--answer-within", "2")
        asking = pool.submit(desk.ask, QUESTION)
        early = desk.models.wait_for(QUESTION, 2 + host.searches).last_result
        (desk.project / "go").touch()
        asked = asking.result()
        assert (asked.returncode, "It said so." in asked.stdout) == (0, True), asked.stderr
        late = desk.models.asked(QUESTION)[-1].last_result
    assert "running" in early, early
    assert "It is 42." in late
    calls = [message["params"] for message in said(log, ">", "tools/call")]
    assert [call["name"] for call in calls] == [tool_names.DELEGATE, tool_names.GET_OUTPUT]
    told = [message["params"] for message in said(log, "<", "notifications/progress")]
    assert calls[0]["_meta"]["progressToken"] in {
        note["progressToken"] for note in told if "1 running" in note["message"]
    }


def recorded(desk: Desk, *options: str) -> Path:
    """Enter our server in the host's file, with the recorder before it; return what it records."""
    log = desk.project.parent / "said"
    shown = json.loads(desk.subagents("install", desk.host.name, "--print", "--json").stdout)
    path = Path(shown["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    server = (sys.executable, "-m", "pi_subagents", "mcp", *options)
    argv = (sys.executable, str(RECORDER), str(log), *server)
    path.write_text(with_entry(HOSTS[desk.host.name], "", SERVER_NAME, argv))
    return log


def said(log: Path, sign: str, method: str) -> list[dict[str, Any]]:
    """Return the messages of one side that have this method."""
    lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
    messages = [json.loads(text) for side, text in lines if side == sign]
    return [message for message in messages if message.get("method") == method]
