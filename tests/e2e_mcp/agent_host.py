"""
Real agent hosts, from npm, whose main model is our scripted one: no account, no network.

Each gets a home of its own, and so do the sub-agents that it asks for: their pi finds the same
scripted models in its `models.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.agents.installed import private_environment, program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.agents.scripted_models import ScriptedModels

PATIENCE_S = 180
RECORDER = Path(__file__).with_name("recorder.py")


@dataclass(frozen=True)
class AgentHost:
    """How one host is pointed at a model and asked something, and what it calls our tools."""

    name: str
    prefix: str  # of the names of our tools
    configure: Callable[[Path, str], dict[str, str]]  # project, address of a model -> variables
    ask: Callable[[str, str], tuple[str, ...]]  # question, address of a model -> arguments
    sign: str = "✓"  # in its list of servers, beside one that works
    searches: bool = False  # its model has to look for our tools before it can call them

    @property
    def argv(self) -> list[str]:
        return [program(self.name)]

    def tool(self, name: str) -> str:
        return f"{self.prefix}{name}"


def _nothing(_project: Path, _url: str) -> dict[str, str]:
    return {}


def _opencode(project: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"offline": {}},
    }
    settings = {
        "provider": {"scripted": provider},
        "model": "scripted/offline",
        "small_model": "scripted/offline",
        "autoupdate": False,
    }
    (project / "opencode.json").write_text(json.dumps(settings))
    return {}


def _qwen(_project: Path, url: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "offline"}


def _claude(_project: Path, url: str) -> dict[str, str]:
    quiet = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
    )
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        **dict.fromkeys(quiet, "1"),
    }


def _ask_codex(question: str, url: str) -> tuple[str, ...]:
    provider = {"name": "scripted", "base_url": f"{url}/v1", "wire_api": "responses"}
    # It hands few variables on to its servers, and does not wait for them unless told to.
    settings = {
        "model": "offline",
        "model_provider": "scripted",
        **{f"model_providers.scripted.{key}": value for key, value in provider.items()},
        "mcp_servers.subagents.required": True,
        "mcp_servers.subagents.env_vars": ["PI_SUBAGENTS_PI", "XDG_CONFIG_HOME", "XDG_DATA_HOME"],
    }
    options = [
        part for key, value in settings.items() for part in ("-c", f"{key}={json.dumps(value)}")
    ]
    plain = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    return ("exec", *plain, *options, question)


AGENT_HOSTS = {
    "opencode": AgentHost(
        "opencode", "subagents_", _opencode, lambda question, _: ("run", question)
    ),
    "qwen-code": AgentHost(
        "qwen-code",
        "mcp__subagents__",
        _qwen,
        lambda question, _: ("--auth-type", "openai", "--approval-mode", "yolo", "-p", question),
    ),
    "claude-code": AgentHost(
        "claude-code",
        "mcp__subagents__",
        _claude,
        lambda question, _: ("-p", question, "--allowedTools", "mcp__subagents"),
        sign="✔",
        searches=True,
    ),
    "codex": AgentHost("codex", "mcp__subagents.", _nothing, _ask_codex, sign="enabled"),
}


@dataclass(frozen=True)
class Desk:
    """A project in a home of its own, with scripted models for everybody."""

    host: AgentHost
    project: Path
    env: Mapping[str, str]
    models: ScriptedModels

    def run(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def subagents(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run([sys.executable, "-m", "pi_subagents", *arguments])

    def host_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run([*self.host.argv, *arguments])

    def ask(self, question: str) -> subprocess.CompletedProcess[str]:
        return self.host_command(*self.host.ask(question, self.models.url("main")))


def desk(root: Path, host: AgentHost, models: ScriptedModels) -> Desk:
    """Lay out a home and a project in which nothing but the models is known."""
    home, project = root / "home", root / "project"
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True)
    (project / ".pi").mkdir(parents=True)  # a project of its own, whatever is above
    scripted = {
        "baseUrl": f"{models.url('child')}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "offline"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    settings = {"defaultProvider": "scripted", "defaultModel": "offline"}
    (agent / "settings.json").write_text(json.dumps(settings))
    env = {
        **private_environment(home),
        "PI_SUBAGENTS_PI": os.environ["PI_SUBAGENTS_PI"],
        **host.configure(project, models.url("main")),
    }
    return Desk(host, project, env, models)
