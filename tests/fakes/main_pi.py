"""
The real pi as main agent, with our extension, on a scripted model.

In: a project and what the main model says, turn by turn.  Out: pi in print, JSON or RPC mode, or in
a terminal; and what its model was really sent.  Children are real too, and echo their prompt; a
test that wants to lead them by the hand puts fake ones in their place (`PI_SUBAGENTS_PI`).
"""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes import canary
from tests.fakes.driver import PATIENCE_S
from tests.fakes.processes import command_lines

from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.hosts.pi.extension import extension_dir, remember_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.e2e.conftest import Project

MAIN, CHILDREN = "main", "children"
ECHO = {"echo": True, "repeat": True}


def call(name: str, **arguments: object) -> dict[str, Any]:
    """Return a turn in which the main model calls one tool."""
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


def delegate(*names: str, **common: object) -> dict[str, Any]:
    """Return a turn in which the main model delegates tasks of these names."""
    tasks = [{"name": name, "prompt": f"the prompt of {name}", **common} for name in names]
    return call("delegate_to_subagents", tasks=tasks)


@dataclass
class MainPi:
    """A main agent's place: what it is started with, and its model."""

    project: Project
    model: OfflineModel
    env: dict[str, str]
    main_model: Sequence[str] = ("--provider", MAIN, "--model", MAIN)
    loading: Sequence[str] = field(default_factory=lambda: ("-e", str(extension_dir())))

    def command(self, *arguments: str) -> list[str]:
        """Return how pi is started as main agent."""
        pi = shlex.split(os.environ["PI_SUBAGENTS_PI"])
        return [*pi, *self.main_model, *self.loading, *arguments]

    def ran(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run pi to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.project.path,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE_S,
            check=False,
        )
        assert canary.heard(done.stdout, done.stderr) == []
        return done

    def records(self, prompt: str, *arguments: str, **env: str) -> list[dict[str, Any]]:
        """Run pi in JSON mode and return its stream."""
        done = self.ran("--mode", "json", "-p", prompt, *arguments, **env)
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    def tool_results(self) -> list[str]:
        """Return every tool result that the main model was sent, in order."""
        messages = self.model.requests(MAIN)[-1]["messages"]
        return [_text(message) for message in messages if message["role"] == "tool"]

    def offered_tools(self, request: int = -1) -> dict[str, Any]:
        """Return the tools that the main model was offered, with their parameters."""
        offered = self.model.requests(MAIN)[request].get("tools", [])
        return {tool["function"]["name"]: tool["function"]["parameters"] for tool in offered}

    def described_tools(self, request: int = -1) -> dict[str, str]:
        """Return what the main model was told of each tool."""
        offered = self.model.requests(MAIN)[request].get("tools", [])
        return {tool["function"]["name"]: tool["function"]["description"] for tool in offered}

    def system_prompt(self, request: int = -1) -> str:
        """Return what the main model was told before the conversation."""
        first = self.model.requests(MAIN)[request]["messages"][0]
        assert first["role"] in ("system", "developer")
        return _text(first)


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def main_pi(project: Project, *turns: object, children: object = None) -> Iterator[MainPi]:
    """Have a main agent whose model says these turns, and children who say theirs."""
    script = {
        "conversations": [{"match": "the prompt of", "turns": children or [ECHO]}],
        "default": list(turns),
    }
    with OfflineModel(parse_script(script)) as model:
        _configure(project, model)
        env = {**project.env, **QUIET}
        remember_interpreter(env)
        yield MainPi(project, model, env)
        _no_core_is_left(project)


def _no_core_is_left(project: Project) -> None:
    """Prove that every core that was started here has ended with its pi."""
    for pid, line in command_lines().items():
        with suppress(OSError):  # it ended meanwhile
            if b"\0bridge\0" in line and os.readlink(f"/proc/{pid}/cwd") == str(project.path):
                handle = os.pidfd_open(pid)
                ended = select.select([handle], [], [], PATIENCE_S)[0]
                os.close(handle)
                assert ended, f"the core {pid} is still there"


def _configure(project: Project, model: OfflineModel) -> None:
    """Give the main agent and the children a provider each, in pi's own files."""
    providers = {
        name: {
            "baseUrl": model.url_for(name),
            "api": "openai-completions",
            "apiKey": "x",
            "models": [{"id": name, "cost": COST}],
        }
        for name in (MAIN, CHILDREN)
    }
    (project.agent_dir / "models.json").write_text(json.dumps({"providers": providers}))
    settings = {
        "defaultProvider": CHILDREN,
        "defaultModel": CHILDREN,
        "retry": {"baseDelayMs": 10},
    }
    (project.agent_dir / "settings.json").write_text(json.dumps(settings))


COST = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}


class RpcPi:
    """pi in RPC mode: commands in, records out."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self._unfinished = b""

    def send(self, **command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, **wanted: object) -> dict[str, Any]:
        """Return the next record that has these fields."""
        while True:
            record = self._next(wanted)
            if all(record.get(name) == value for name, value in wanted.items()):
                return record

    def _next(self, wanted: object) -> dict[str, Any]:
        assert self.process.stdout is not None
        while b"\n" not in self._unfinished:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            assert ready, f"never came: {wanted}, but {self.seen[-5:]}"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            assert chunk, f"pi ended before {wanted}: {self.seen[-5:]}"
            self._unfinished += chunk
        line, self._unfinished = self._unfinished.split(b"\n", 1)
        record: dict[str, Any] = json.loads(line)
        self.seen.append(record)
        return record


@contextmanager
def rpc(pi: MainPi, *arguments: str) -> Iterator[RpcPi]:
    """Have pi in RPC mode; at the end its input is closed, and it has to go by itself."""
    process = subprocess.Popen(
        pi.command("--mode", "rpc", *arguments),
        cwd=pi.project.path,
        env=pi.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            yield RpcPi(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
