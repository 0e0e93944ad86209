"""Which agents we know by name; each is loaded when it is used.  A new one is a file and a line."""

from __future__ import annotations

from importlib import import_module

from pi_subagents.core.value import replace
from pi_subagents.engines.acp.agent import Agent

_MODULES = {
    "opencode": "opencode",
    "codex": "codex",
    "claude": "claude",
    "gemini": "gemini",
    "qwen": "qwen",
    "pi-acp": "pi_acp",
}
NAMES = tuple(_MODULES)


def agent_of(name: str) -> Agent:
    """Return what is known of an agent; of one that only a user knows, what the protocol says."""
    if name not in _MODULES:
        return Agent(name, name, announces_files=True)
    found: Agent = import_module(f"pi_subagents.engines.acp.agents.{_MODULES[name]}").AGENT
    return found


def agent_like(name: str, like: str) -> Agent:
    """Return an agent by another name, of which the same is known."""
    return replace(agent_of(like or name), name=name, like=like)
