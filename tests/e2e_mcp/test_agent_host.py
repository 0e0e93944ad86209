"""A real agent host, configured by `subagents install`, really delegates: to the real pi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e_mcp.agent_host import AGENT_HOSTS, Desk, desk

from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.server import OfflineModel

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.pi

QUESTION = "Ask a sub-agent for the number."
TASK = {"name": "counter", "prompt": "Reply with the number."}


@pytest.fixture(params=AGENT_HOSTS)
def at_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    host = AGENT_HOSTS[request.param]
    delegate = {"name": host.tool, "arguments": {"tasks": [TASK]}}
    script = {
        "conversations": [
            {"match": QUESTION, "turns": [{"toolCalls": [delegate]}, {"text": "It said so."}]},
            {"match": TASK["prompt"], "turns": [{"text": "It is 42."}]},
        ],
        "default": [{"text": "(no answer)", "repeat": True}],
    }
    with OfflineModel(parse_script(script)) as model:
        yield desk(tmp_path, host, model)


def last_message(desk: Desk, conversation: str, request: int) -> dict[str, Any]:
    message: dict[str, Any] = desk.model.requests(conversation)[request]["messages"][-1]
    return message


def test_the_host_is_configured_delegates_and_is_left_as_it_was(at_desk: Desk) -> None:
    name = at_desk.host.name
    installed = at_desk.subagents("install", name, "--yes", "--json")
    assert (installed.returncode, json.loads(installed.stdout)["changed"]) == (0, True)

    listed = at_desk.host_command("mcp", "list")
    assert "✓" in listed.stdout + listed.stderr
    assert "subagents mcp" in listed.stdout + listed.stderr

    asked = at_desk.host_command(*at_desk.host.ask, QUESTION)
    assert asked.returncode == 0, asked.stderr
    assert "It said so." in asked.stdout

    assert TASK["prompt"] in json.dumps(last_message(at_desk, "child", 0))
    heard = last_message(at_desk, "main", 1)
    assert heard["role"] == "tool"
    (run,) = json.loads(at_desk.subagents("runs", "--json").stdout)["runs"]
    assert run["sessionId"] in json.dumps(heard)
    assert (run["name"], run["status"]) == (TASK["name"], "completed")
    assert at_desk.subagents("output", run["sessionId"]).stdout.strip() == "It is 42."

    removed = at_desk.subagents("uninstall", name, "--yes", "--json")
    assert json.loads(removed.stdout)["changed"] is True
    assert "subagents mcp" not in at_desk.host_command("mcp", "list").stdout


def test_what_install_prints_is_what_the_host_understands(at_desk: Desk) -> None:
    shown = json.loads(at_desk.subagents("install", at_desk.host.name, "--print", "--json").stdout)
    path = Path(shown["path"])
    assert not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(shown["snippet"])
    again = at_desk.subagents("install", at_desk.host.name, "--yes", "--json")
    assert json.loads(again.stdout)["changed"] is False
    listed = at_desk.host_command("mcp", "list")
    assert "✓" in listed.stdout + listed.stderr
