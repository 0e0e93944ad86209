"""How runs of other people's agents end that nobody lets end: killed from outside, or retrying for ever."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING, Self

import pytest
from tests.agents.acp_agents import ACP_AGENTS
from tests.agents.scripted_models import scripted_models
from tests.e2e_acp.test_agents import AGENTS, RESUMING, Lasting, at_work, calls, shell
from tests.e2e_acp.workbench import agent_above, ended, engine_of
from tests.fakes.processes import parent_of

from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.conversation import SILENCE_LIMIT_S, open_conversation
from pi_subagents.engines.acp.orders import AgentOrders, orders_text
from pi_subagents.engines.conversation import Beginning

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi

RETRYING = ("opencode", "qwen", "claude", "gemini")  # without an end; the others give up
REFUSING = {"error": {"status": 500, "message": "the model is out of order"}, "repeat": True}


@pytest.mark.parametrize("agent", AGENTS)
def test_its_supervisor_killed_nothing_is_left_and_its_session_goes_on(
    tmp_path: Path, agent: str
) -> None:
    lasting = Lasting()
    turn = calls(shell(agent, lasting.command))
    again = [{"text": "I went on."}]
    with at_work(tmp_path, agent, turn, {"text": "not reached"}, Again=again) as bench:
        working = bench.started(engine_of(agent), "Begin the work.")
        lasting.wait_for(2)
        os.kill(parent_of(agent_above(lasting.processes[0])), signal.SIGKILL)
        ran = ended(working)
        lasting.wait_for(0)
        after = bench.run(engine_of(agent), "Again: go on.", "--resume", ran.result["sessionId"])
        (asked,) = bench.models.asked("Again")
    assert (ran.code, ran.result["status"], bool(ran.result["errorMessage"])) == (1, "error", True)
    how = "native" if agent in RESUMING else "replay"
    assert (after.result["output"], after.result["resumed"]) == ("I went on.", how)
    assert any("Begin the work." in text for text in asked.said_by("user"))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_model_that_is_asked_for_ever_costs_no_more_than_the_time_of_its_task(
    tmp_path: Path, agent: str
) -> None:
    with at_work(tmp_path, agent, REFUSING) as bench:
        bench.settings(extend_timeout_debounce=1)
        # On a busy machine some take half a minute until they ask their model.
        ran = bench.run(engine_of(agent), "Begin the work.", "--timeout", "60")
        assert bench.models.asked("Begin")
    assert (ran.code, ran.result["status"], ran.result["output"]) == (1, "error", "")
    assert ran.result["errorMessage"]


@pytest.mark.parametrize("agent", RETRYING)
def test_retries_that_nobody_hears_of_are_ended_by_our_own_deadline(
    tmp_path: Path, agent: str
) -> None:
    """The conversation has no clock: ten minutes pass as soon as the model was asked again."""
    known, fold = ACP_AGENTS[agent], RunFold()
    (tmp_path / "project").mkdir()
    script = {"conversations": [{"match": "Begin", "turns": [REFUSING]}]}
    with scripted_models(script) as models:
        env = known.environment(tmp_path / "home", models)
        with Pipes(known.argv, tmp_path / "project", env) as pipes:
            talk = open_conversation(agent, "run", pipes)
            orders = orders_text(AgentOrders(cwd=str(tmp_path / "project")))
            talk.begin(Beginning("Begin the work.", orders=orders))
            while talk.unasked:
                talk.hears(pipes.line(), 0.0)
            models.wait_for("Begin", 2)
            talk.check_time(SILENCE_LIMIT_S + 1)
            while not talk.over:
                for event in talk.hears(pipes.line(), SILENCE_LIMIT_S + 1):
                    fold.apply(event)
    outcome = fold.decide(Ending(exit_code=0))
    assert (outcome.status, outcome.error_message) == ("failed", messages.silent(SILENCE_LIMIT_S))


class Pipes:
    """A started agent: what it is sent, and its lines."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "it has ended"
        return line.rstrip(b"\n")
