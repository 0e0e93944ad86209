"""A run of another program's agent, as it is seen: in live windows, and by a pi that is the main agent."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.agents.acp_agents import call
from tests.e2e_acp.test_agents import at_work, calls, shell
from tests.e2e_acp.workbench import PATIENCE_S, wait_until
from tests.fakes.pty_command import SUBAGENTS, ended, on_a_terminal

from pi_subagents.hosts.pi.extension import extension_dir, remember_interpreter

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.pi

WAITING = "touch begun; until [ -e go ]; do sleep 0.1; done"
SHOWN = ("opencode", "codex", "qwen", "pi-acp")


@pytest.mark.parametrize("agent", SHOWN)
async def test_its_window_names_it_and_shows_its_calls_and_its_answer(
    tmp_path: Path, agent: str
) -> None:
    turns = {"text": "First I look.", **calls(shell(agent, WAITING))}, {"text": "All is done."}
    with at_work(tmp_path, agent, *turns) as bench:
        argv = [*SUBAGENTS, "run", "--engine", f"acp:{agent}", "Begin the work."]
        env = {**bench.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        on_terminal = on_a_terminal(argv, cwd=bench.project, env=env, columns=120)
        async with on_terminal as (watcher, process, _):
            # Some take long to begin, longer than a person is shown to wait here.
            await asyncio.to_thread(wait_until, (bench.project / "begun").exists, "it works")
            screen = await watcher.sees(f"bash → {WAITING}")
            (bench.project / "go").touch()
            assert await ended(process) == 0
            left = await watcher.sees("All is done.")
    assert any(f"acp:{agent}" in row for row in screen)
    assert any("First I look." in row for row in screen)
    assert any("1 call" in row for row in left)


@pytest.mark.parametrize("agent", ["codex"])
def test_a_pi_that_is_the_main_agent_delegates_to_it(tmp_path: Path, agent: str) -> None:
    task = {"name": "work", "prompt": "Begin the work.", "engine": f"acp:{agent}"}
    delegating = calls(call("delegate_to_subagents", tasks=[task]))
    turns = calls(shell(agent, "touch begun")), {"text": "All is done."}
    host: list[dict[str, Any]] = [delegating, {"text": "It has reported."}]
    with at_work(tmp_path, agent, *turns, Delegate=host) as bench:
        remember_interpreter(bench.env)
        pi = shlex.split(bench.env["PI_SUBAGENTS_PI"])
        done = subprocess.run(
            [*pi, "-e", str(extension_dir()), "-p", "Delegate it, please."],
            cwd=bench.project,
            env=dict(bench.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        wait_until((bench.project / "begun").exists, "it worked")
        callers = {each.match: each.caller for each in bench.models.asked() if each.match}
        heard = bench.models.asked("Delegate")[-1].last_result
    assert (done.returncode, done.stdout.strip()) == (0, "It has reported."), done.stderr
    assert callers == {"Delegate": "pi", "Begin": agent}
    assert "All is done." in heard
