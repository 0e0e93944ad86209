"""
Real agent hosts, from npm, whose main model is our scripted one: no account, no network.

A host is installed once, in the pinned version, below `.cache/`.  It gets a home of its own, and so
do the sub-agents that it asks for: their pi finds the same scripted model in its `models.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.install.node import find_node
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.engines.offline.server import OfflineModel

CACHE = Path(__file__).parents[2] / ".cache" / "agent-hosts"
PATIENCE_S = 180
INSTALL_LIMIT_S = 600


@dataclass(frozen=True)
class AgentHost:
    """How one host is installed, pointed at a model, asked something, and what it calls our tool."""

    name: str
    package: str
    version: str
    program: str  # below node_modules; a pattern
    tool: str
    configure: Callable[[Path, str], dict[str, str]]  # project, address of a model -> variables
    ask: tuple[str, ...]

    @property
    def argv(self) -> list[str]:
        modules = installed(self)
        return [str(next(iter(sorted(modules.glob(self.program)))))]


def _opencode(project: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": url, "apiKey": "none"},
        "models": {"offline": {}},
    }
    titles = {**provider, "options": {"baseURL": url.replace("/main/", "/titles/"), "apiKey": "-"}}
    settings = {
        "provider": {"scripted": provider, "titles": titles},
        "model": "scripted/offline",
        "small_model": "titles/offline",
        "autoupdate": False,
    }
    (project / "opencode.json").write_text(json.dumps(settings))
    return {}


def _qwen(_project: Path, url: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "offline"}


AGENT_HOSTS = {
    "opencode": AgentHost(
        "opencode",
        "opencode-ai",
        "1.18.33",
        "opencode-*/bin/opencode",
        "subagents_delegate_to_subagents",
        _opencode,
        ("run",),
    ),
    "qwen-code": AgentHost(
        "qwen-code",
        "@qwen-code/qwen-code",
        "0.24.4",
        ".bin/qwen",
        "mcp__subagents__delegate_to_subagents",
        _qwen,
        ("--auth-type", "openai", "--approval-mode", "yolo", "-p"),
    ),
}


def node_path() -> str:
    """Return the directory of a Node that hosts can run on."""
    node = find_node(os.environ, Path.cwd(), data_dir(os.environ))
    assert node, "no Node here: `subagents setup` fetches one"
    return str(node.node.parent)


def installed(host: AgentHost) -> Path:
    """Return the `node_modules` with this host, installed if it is not there yet."""
    target = CACHE / f"{host.name}-{host.version}"
    if not (target / "node_modules").is_dir():
        node = find_node(os.environ, Path.cwd(), data_dir(os.environ))
        assert node, "no Node here: `subagents setup` fetches one"
        staging = target.with_name(f"{target.name}.{os.getpid()}")
        staging.mkdir(parents=True)
        (staging / "package.json").write_text('{"private": true}')
        options = ("--no-audit", "--no-fund", "--no-progress", "--ignore-scripts")
        subprocess.run(
            [*node.npm, "install", *options, f"{host.package}@{host.version}"],
            cwd=staging,
            env={**os.environ, "PATH": f"{node.node.parent}:{os.environ['PATH']}"},
            check=True,
            timeout=INSTALL_LIMIT_S,
        )
        staging.rename(target)
    return target / "node_modules"


@dataclass(frozen=True)
class Desk:
    """A project in a home of its own, with a scripted model for everybody."""

    host: AgentHost
    project: Path
    env: Mapping[str, str]
    model: OfflineModel

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


def desk(root: Path, host: AgentHost, model: OfflineModel) -> Desk:
    """Lay out a home and a project in which nothing but the model is known."""
    home, project = root / "home", root / "project"
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True)
    project.mkdir()
    scripted = {
        "baseUrl": model.url_for("child"),
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "offline"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"scripted": scripted}}))
    settings = {"defaultProvider": "scripted", "defaultModel": "offline"}
    (agent / "settings.json").write_text(json.dumps(settings))
    env = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / "data"),
        "PATH": f"{node_path()}:{os.environ['PATH']}",
        "PI_SUBAGENTS_PI": os.environ["PI_SUBAGENTS_PI"],
        **host.configure(project, model.url_for("main")),
    }
    return Desk(host, project, env, model)
