"""
Other people's ACP agents, each pointed at our scripted models: no account, no network.

In: a home of its own and the address of a model.  Out: the variables that an agent starts with, and
the calls by which its model uses its tools.  Which of them there are, and in which version, is in
`scripts/npm_packages.py`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.agents.installed import private_environment, program
from tests.which_pi import pi_for_tests

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.agents.scripted_models import ScriptedModels

Call = dict[str, Any]


@dataclass(frozen=True)
class AcpAgent:
    """How one agent is started and shown its model, and what its tools are called."""

    name: str  # of the engine: acp:<name>
    package: str  # in npm_packages
    arguments: tuple[str, ...]
    configure: Callable[[Path, str], dict[str, str]]  # home, address -> variables
    shell: Callable[[str], Call]
    write: Callable[[Path, str], Call]  # a file, its new text
    prefix: str = ""  # of the tools of an MCP server called subagents; empty: it takes none
    searches: bool = False  # its model has to look for such tools before it can call them

    @property
    def argv(self) -> list[str]:
        return [program(self.package), *self.arguments]

    def environment(self, home: Path, models: ScriptedModels, caller: str = "") -> dict[str, str]:
        """Lay out its home, with its program on PATH; return what it starts with."""
        there = Path(program(self.package))
        link = home / "bin" / there.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(there)
        env = private_environment(home)
        variables = self.configure(home, models.url(caller or self.name))
        return {**env, "PATH": f"{link.parent}{os.pathsep}{env['PATH']}", **variables}


def call(name: str, **arguments: object) -> Call:
    return {"name": name, "arguments": arguments}


def _opencode(_home: Path, url: str) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"offline": {}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/offline",
        "small_model": "scripted/offline",
        "autoupdate": False,
        "share": "disabled",
    }
    guards = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        **{f"OPENCODE_DISABLE_{guard}": "1" for guard in guards},
    }


def _qwen(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "none",
        "OPENAI_MODEL": "offline",
        "QWEN_CODE_NO_RELAUNCH": "true",
    }


def configure_pi(home: Path, url: str) -> dict[str, str]:
    """Show pi its model; it is started by the adapter, or by the engine of its own."""
    scripted = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": "none",
        "models": [{"id": "offline"}],
    }
    settings = {
        "defaultProvider": "scripted",
        "defaultModel": "offline",
        "quietStartup": True,
        "retry": {"baseDelayMs": 10},
    }
    agent = home / ".pi" / "agent"
    _write(agent / "models.json", json.dumps({"providers": {"scripted": scripted}}))
    _write(agent / "settings.json", json.dumps(settings))
    return {"PI_OFFLINE": "1"}


def _pi_acp(home: Path, url: str) -> dict[str, str]:
    # The adapter starts what is called `pi` on PATH.
    wrapper = home / "bin" / "pi"
    _write(wrapper, f'#!/bin/sh\nexec {pi_for_tests(os.environ, Path.cwd())} "$@"\n')
    wrapper.chmod(0o755)
    return configure_pi(home, url)


def _codex(home: Path, url: str) -> dict[str, str]:
    config = f"""
        model = "offline"
        model_provider = "scripted"
        check_for_update_on_startup = false
        [model_providers.scripted]
        name = "scripted"
        base_url = "{url}/v1"
        wire_api = "responses"
        env_key = "SCRIPTED_KEY"
        request_max_retries = 2
        stream_max_retries = 1
        [analytics]
        enabled = false
        """
    _write(home / ".codex" / "config.toml", config)
    return {"SCRIPTED_KEY": "none", "MODEL_PROVIDER": "scripted"}


def _claude(_home: Path, url: str) -> dict[str, str]:
    guards = (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
    )
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **dict.fromkeys(guards, "1")}


def _gemini(home: Path, url: str) -> dict[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "gemini-2.5-pro"},  # by itself it asks a model which model to ask
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _patch(path: Path, text: str) -> str:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


def pi_shell(command: str) -> Call:
    return call("bash", command=command)


def pi_write(path: Path, text: str) -> Call:
    return call("write", path=str(path), content=text)


ACP_AGENTS = {
    agent.name: agent
    for agent in (
        AcpAgent(
            "opencode",
            "opencode",
            ("acp",),
            _opencode,
            shell=lambda command: call("bash", command=command, description="Run"),
            write=lambda path, text: call("write", filePath=str(path), content=text),
            prefix="subagents_",
        ),
        AcpAgent(
            "codex",
            "codex-acp",
            (),
            _codex,
            shell=lambda command: call("exec_command", cmd=command),
            write=lambda path, text: call(
                "exec_command", cmd=f"apply_patch <<'EOF'\n{_patch(path, text)}EOF"
            ),
            prefix="mcp__subagents.",
        ),
        AcpAgent(
            "qwen",
            "qwen-code",
            ("--acp",),
            _qwen,
            shell=lambda command: call("run_shell_command", command=command, is_background=False),
            write=lambda path, text: call("write_file", file_path=str(path), content=text),
            prefix="mcp__subagents__",
        ),
        AcpAgent(
            "pi-acp",
            "pi-acp",
            (),
            _pi_acp,
            shell=pi_shell,
            write=pi_write,
        ),
        AcpAgent(
            "claude",
            "claude-agent-acp",
            (),
            _claude,
            shell=lambda command: call("Bash", command=command),
            write=lambda path, text: call("Write", file_path=str(path), content=text),
            prefix="mcp__subagents__",
            searches=True,
        ),
        AcpAgent(
            "gemini",
            "gemini",
            ("--acp",),
            _gemini,
            shell=lambda command: call("run_shell_command", command=command),
            write=lambda path, text: call("write_file", file_path=str(path), content=text),
            prefix="mcp_subagents_",
        ),
    )
}
