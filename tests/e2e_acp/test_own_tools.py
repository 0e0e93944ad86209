"""Our tools, and messages, reach an agent at work: by the MCP server of its session, and as it is steered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.agents.acp_agents import ACP_AGENTS, call
from tests.e2e_acp.test_agents import at_work, calls, shell
from tests.e2e_acp.workbench import ended, engine_of, heard, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi

TAKING = tuple(name for name, agent in ACP_AGENTS.items() if agent.prefix)
STEERED = ("opencode", "codex", "qwen", "claude")
PORT = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}


def own(agent: str, name: str, **arguments: object) -> list[dict[str, Any]]:
    """Return the turns by which a model calls a tool of ours."""
    known = ACP_AGENTS[agent]
    search = [calls(call("ToolSearch", query=f"select:{known.prefix}{name}"))] * known.searches
    return [*search, calls(call(f"{known.prefix}{name}", **arguments))]


@pytest.mark.parametrize("agent", TAKING)
def test_an_answer_is_handed_in_and_one_that_does_not_fit_is_mended(
    tmp_path: Path, agent: str
) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(PORT))
    wrong, right = own(agent, "submit_answer", port="no"), own(agent, "submit_answer", port=80)
    with at_work(tmp_path, agent, *wrong, right[-1], {"text": "Handed in."}) as bench:
        ran = bench.run(engine_of(agent), "Begin: which port?", "--schema", str(path))
    assert (ran.result["status"], ran.result["value"]) == ("completed", {"port": 80})


@pytest.mark.parametrize("agent", TAKING)
def test_it_asks_whoever_gave_it_the_task_and_hears_the_answer(tmp_path: Path, agent: str) -> None:
    asks = own(agent, "ask_parent", question="Which database?")
    with at_work(tmp_path, agent, *asks, {"text": "Deployed."}) as bench:
        working = bench.started(engine_of(agent), "Begin the work.", "--questions", "ask")
        assert "Which database?" in heard(working, "Asks: ")
        assert bench.command("answer", "last", "staging").code == 0
        ran = ended(working)
        said = bench.models.asked("Begin")[-1].last_result
    assert (ran.result["status"], ran.result["output"]) == ("completed", "Deployed.")
    assert "staging" in said


@pytest.mark.parametrize("agent", STEERED)
def test_a_message_is_read_while_it_works(tmp_path: Path, agent: str) -> None:
    waiting = calls(shell(agent, "touch begun; until [ -e go ]; do sleep 0.1; done"))
    with at_work(tmp_path, agent, waiting, {"text": "As you said."}) as bench:
        working = bench.started(engine_of(agent), "Begin the work.")
        wait_until((bench.project / "begun").exists, "it works")
        steered = bench.command("steer", "last", "Use the other file.")
        (bench.project / "go").touch()
        ran = ended(working)
        requests = bench.models.asked("Begin")
    assert (steered.code, ran.result["status"]) == (0, "completed"), steered.out
    assert any("Use the other file." in text for text in requests[-1].said_by("user"))
