"""
Somebody who runs `subagents` with other people's agents, whose models say what a script says.

In: an agent, a script.  Out: commands in processes of their own, what came of them, and processes
whose end can be seen.  Every agent has a home of its own with nothing but its model in it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.agents.acp_agents import ACP_AGENTS, configure_pi
from tests.agents.installed import private_environment
from tests.fakes.processes import command_lines, parent_of
from tests.which_pi import pi_for_tests

from pi_subagents.runners.supervisor_start import supervisor_argv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.agents.scripted_models import ScriptedModels

PATIENCE_S = 110
LOOK_EVERY_S = 0.05
PI = "pi"


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def results(self) -> list[dict[str, Any]]:
        assert self.out, self.err
        found: list[dict[str, Any]] = json.loads(self.out)["details"]["results"]
        return found

    @property
    def call_counts(self) -> list[int]:
        """How many tools each task has called."""
        return [window["callCount"] for window in json.loads(self.out)["details"]["windows"]]

    @property
    def result(self) -> dict[str, Any]:
        (found,) = self.results
        return found


@dataclass(frozen=True)
class Workbench:
    """A project, and a home in which these agents find their models."""

    project: Path
    env: Mapping[str, str]
    models: ScriptedModels
    at_work: list[subprocess.Popen[str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what a failed test has left at work."""
        for process in self.at_work:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "pi_subagents", *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.at_work.append(process)
        return process

    def command(self, *arguments: str) -> Ran:
        return ended(self.start(*arguments))

    def run(self, engine: str, *arguments: str) -> Ran:
        """Run tasks on an engine to their end."""
        return ended(self.started(engine, *arguments))

    def started(self, engine: str, *arguments: str) -> subprocess.Popen[str]:
        """Start tasks on an engine."""
        return self.start(
            "run", *(() if engine == PI else ("--engine", engine)), "--json", *arguments
        )

    def settings(self, **more: object) -> None:
        """Add to the user's settings."""
        path = Path(self.env["HOME"]) / ".pi" / "agent" / "settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "subagents": more}))

    def profile(self, name: str, fields: str, text: str = "") -> None:
        """Write a profile of the user's."""
        directory = Path(self.env["HOME"]) / ".pi" / "agent" / "agent-profiles"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{name}.md").write_text(f"---\nname: {name}\n{fields}\n---\n{text}\n")


def workbench(root: Path, models: ScriptedModels, *agents: str) -> Workbench:
    """Lay out a home for these agents, and a project."""
    home, project = root / "home", root / "project"
    (project / ".pi").mkdir(parents=True)  # a project of its own, whatever is above
    env = {
        **private_environment(home),
        **configure_pi(home, models.url(PI)),
        "PI_SUBAGENTS_PI": pi_for_tests(os.environ, Path.cwd()),
    }
    for name in agents:
        if name != PI:
            more = ACP_AGENTS[name].environment(home, models)
            first, _, rest = more["PATH"].partition(os.pathsep)
            env |= {**more, "PATH": os.pathsep.join([first, rest])}
    return Workbench(project, env, models)


def engine_of(agent: str) -> str:
    """Return the name by which users choose an agent."""
    return agent if agent == PI else f"acp:{agent}"


def heard(process: subprocess.Popen[str], said: str) -> str:
    """Return the line of progress that says this, as soon as it is said."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return line
    raise AssertionError("".join(lines))


def ended(process: subprocess.Popen[str]) -> Ran:
    """Wait for a command's end."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Ran(process.returncode, out, err)


def wait_until(happened: Any, what: str) -> None:
    """Return as soon as something has happened."""
    latest = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > latest:
            raise TimeoutError(what)
        time.sleep(LOOK_EVERY_S)


def called_with(mark: str) -> list[int]:
    """Return the processes that have this in their command line; some have ids of their own."""
    found = command_lines().items()
    return [pid for pid, line in found if mark.encode() in line.split(b"\0")]


def agent_above(pid: int) -> int:
    """Return the process that a supervisor has started, of which this one descends."""
    supervisor = b"\0".join(map(os.fsencode, supervisor_argv()))
    commands = command_lines()
    while supervisor not in commands[parent_of(pid)]:
        pid = parent_of(pid)
    return pid
