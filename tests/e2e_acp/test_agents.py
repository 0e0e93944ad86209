"""Other people's agents as sub-agents: the same run, whoever works."""

from __future__ import annotations

import json
import os
import signal
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.agents.acp_agents import ACP_AGENTS, pi_shell, pi_write
from tests.agents.scripted_models import scripted_models
from tests.e2e_acp.workbench import (
    PI,
    Workbench,
    agent_above,
    called_with,
    ended,
    engine_of,
    wait_until,
    workbench,
)
from tests.fakes.samples import first_as_sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.pi

AGENTS = tuple(ACP_AGENTS)
RESUMING = tuple(name for name in AGENTS if name != "gemini")  # its sessions end with it


def shell(agent: str, command: str) -> dict[str, Any]:
    return pi_shell(command) if agent == PI else ACP_AGENTS[agent].shell(command)


def write(agent: str, path: Path, text: str) -> dict[str, Any]:
    return pi_write(path, text) if agent == PI else ACP_AGENTS[agent].write(path, text)


@contextmanager
def at_work(
    root: Path, agent: str, *turns: dict[str, Any], **more: list[dict[str, Any]]
) -> Iterator[Workbench]:
    """Have an agent whose model says this when it is told `Begin`, and more for other words."""
    parts = [{"match": "Begin", "turns": list(turns)}] if turns else []
    parts += [{"match": word, "turns": listed} for word, listed in more.items()]
    with scripted_models({"conversations": parts}) as models, workbench(root, models, agent) as it:
        yield it


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    return {"toolCalls": list(made)}


@pytest.mark.parametrize("agent", first_as_sample([PI, *AGENTS]))
def test_it_works_with_its_tools_and_answers(tmp_path: Path, agent: str) -> None:
    first = calls(shell(agent, "echo from-the-shell > made.txt; cat made.txt"))
    second = calls(write(agent, tmp_path / "project" / "written.txt", "by the agent\n"))
    with at_work(tmp_path, agent, first, second, {"text": "All is done."}) as bench:
        ran = bench.run(engine_of(agent), "Begin the work.")
        _, after_shell, after_edit = bench.models.asked("Begin")
    assert (ran.code, ran.result["status"], ran.result["output"]) == (
        0,
        "completed",
        "All is done.",
    )
    assert (bench.project / "written.txt").read_text() == "by the agent\n"
    assert "from-the-shell" in after_shell.last_result
    assert len(after_edit.said_by("tool")) == 2
    assert ran.call_counts == [2]


@pytest.mark.parametrize("agent", AGENTS)
def test_calls_of_one_message_are_all_made(tmp_path: Path, agent: str) -> None:
    both = calls(shell(agent, "echo one; touch one"), shell(agent, "echo two; touch two"))
    with at_work(tmp_path, agent, both, {"text": "Both."}) as bench:
        ran = bench.run(engine_of(agent), "Begin the work.")
        heard = bench.models.asked("Begin")[-1].said_by("tool")
    assert (ran.result["status"], ran.result["output"]) == ("completed", "Both.")
    assert [word in text for word, text in zip(("one", "two"), heard, strict=True)] == [True, True]
    assert sorted(path.name for path in bench.project.glob("[ot]*")) == ["one", "two"]


@dataclass(frozen=True)
class Lasting:
    """A command that goes on for an hour, with a process beside it that hears no hang-up."""

    seconds: str = field(default_factory=lambda: f"3600.{uuid.uuid4().int}")

    @property
    def command(self) -> str:
        return f"setsid sleep {self.seconds} & sleep {self.seconds}"

    @property
    def processes(self) -> list[int]:
        return called_with(self.seconds)

    def wait_for(self, number: int) -> None:
        wait_until(lambda: len(self.processes) == number, f"{number} processes of it")


@pytest.mark.parametrize("agent", AGENTS)
def test_stopped_it_leaves_no_process_behind(tmp_path: Path, agent: str) -> None:
    lasting = Lasting()
    turn = calls(shell(agent, lasting.command))
    with at_work(tmp_path, agent, turn, {"text": "not reached"}) as bench:
        working = bench.started(engine_of(agent), "Begin the work.")
        lasting.wait_for(2)
        working.send_signal(signal.SIGINT)
        ran = ended(working)
        lasting.wait_for(0)
    assert (ran.code, ran.result["errorMessage"]) == (130, "Stopped on request")


@pytest.mark.parametrize("agent", AGENTS)
def test_killed_it_is_reported_and_leaves_no_process_behind(tmp_path: Path, agent: str) -> None:
    lasting = Lasting()
    turn = calls(shell(agent, lasting.command))
    with at_work(tmp_path, agent, turn, {"text": "not reached"}) as bench:
        working = bench.started(engine_of(agent), "Begin the work.")
        lasting.wait_for(2)
        os.kill(agent_above(lasting.processes[0]), signal.SIGKILL)
        ran = ended(working)
        lasting.wait_for(0)
    assert (ran.code, ran.result["status"]) == (1, "error")
    assert ran.result["errorMessage"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_model_that_refuses_is_an_error_with_its_words(tmp_path: Path, agent: str) -> None:
    refused = {"error": {"status": 400, "message": "the model is on holiday"}, "repeat": True}
    with at_work(tmp_path, agent, refused) as bench:
        ran = bench.run(engine_of(agent), "Begin the work.")
    assert (ran.code, ran.result["status"]) == (1, "error")
    # The adapter of pi says nothing at all about it.
    assert "holiday" in ran.result["errorMessage"] or agent == "pi-acp"


@pytest.mark.parametrize("agent", AGENTS)
def test_a_model_that_is_busy_is_asked_again(tmp_path: Path, agent: str) -> None:
    busy = {"error": {"status": 429, "message": "slow down", "retryAfterS": 1}}
    with at_work(tmp_path, agent, busy, {"text": "Now."}) as bench:
        ran = bench.run(engine_of(agent), "Begin the work.")
    assert (ran.result["status"], ran.result["output"]) == ("completed", "Now.")


@pytest.mark.parametrize("agent", RESUMING)
def test_a_session_goes_on_in_a_new_process(tmp_path: Path, agent: str) -> None:
    with at_work(
        tmp_path,
        agent,
        {"text": "The word is pineapple."},
        Again=[{"text": "It was pineapple."}],
    ) as bench:
        before = bench.run(engine_of(agent), "Begin with a word.").result
        after = bench.run(engine_of(agent), "Again, which?", "--resume", before["sessionId"]).result
        (asked,) = bench.models.asked("Again")
    assert (before["output"], after["output"]) == ("The word is pineapple.", "It was pineapple.")
    # Its own session, and no transcript of it.
    assert "The word is pineapple." in asked.said_by("assistant")


def test_an_agent_that_keeps_no_sessions_is_told_what_happened(tmp_path: Path) -> None:
    begun, again = {"text": "The word is pineapple."}, [{"text": "It was pineapple."}]
    with at_work(tmp_path, "gemini", begun, Again=again) as bench:
        before = bench.run("acp:gemini", "Begin with a word.").result
        after = bench.run("acp:gemini", "Again, which?", "--resume", before["sessionId"]).result
        (asked,) = bench.models.asked("Again")
    assert (after["output"], after["resumed"]) == ("It was pineapple.", "replay")
    assert "The word is pineapple." in asked.said_by("user")[-1]


@pytest.mark.parametrize("agent", AGENTS)
def test_two_at_once_answer_in_order(tmp_path: Path, agent: str) -> None:
    # Each waits for what the other makes.
    one = calls(shell(agent, "touch one; until [ -e two ]; do sleep 0.1; done"))
    two = calls(shell(agent, "touch two; until [ -e one ]; do sleep 0.1; done"))
    with at_work(
        tmp_path,
        agent,
        First=[one, {"text": "I was the first."}],
        Second=[two, {"text": "I was the second."}],
    ) as bench:
        ran = bench.run(engine_of(agent), "First task", "Second task")
    assert [(each["status"], each["output"]) for each in ran.results] == [
        ("completed", "I was the first."),
        ("completed", "I was the second."),
    ]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_answer_fits_the_schema(tmp_path: Path, agent: str) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema))
    with at_work(tmp_path, agent, {"text": '{"port": "no"}'}, {"text": '{"port": 80}'}) as bench:
        ran = bench.run(engine_of(agent), "Begin: which port?", "--schema", str(path))
    assert (ran.result["status"], ran.result["value"]) == ("completed", {"port": 80})
