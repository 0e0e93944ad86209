"""
Agents of Codex: `.codex/agents/*.toml`, and the profiles of `.codex/config.toml`.

In: a file's name and bytes.  Out: the agents it defines, or AgentFileUnreadable.  A read-only
sandbox becomes a list of tools that only read.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pi_subagents.core.foreign import messages
from pi_subagents.core.foreign.agent import named, text_of, with_row, with_text, without
from pi_subagents.core.profile.profile import THINKING_LEVELS
from pi_subagents.errors import AgentFileUnreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.foreign.agent import ForeignAgent

READING = ("read", "grep", "find", "ls")
CONFIG, PROFILES = "config", "profiles"  # a file, and a table in it
_OPEN = ("workspace-write", "danger-full-access")  # sandboxes in which files may be changed
_LEVELS = {"none": "off", **{level: level for level in THINKING_LEVELS}}


def parse_codex(stem: str, data: bytes) -> tuple[ForeignAgent, ...]:
    """Return the agents of a file."""
    try:
        content = tomllib.loads(text_of(data))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise AgentFileUnreadable(messages.toml_unreadable(str(error))) from error
    profiles = content.get(PROFILES)
    if isinstance(profiles, dict):
        tables = {name: table for name, table in profiles.items() if isinstance(table, dict)}
        return tuple(_agent(table, name) for name, table in tables.items())
    if stem == CONFIG:
        return ()
    if "developer_instructions" not in content:
        raise AgentFileUnreadable(messages.NO_AGENT)
    return (_agent(content, stem),)


def _agent(table: Mapping[str, object], fallback: str) -> ForeignAgent:
    agent = named(table.get("name"), fallback)
    for field, given in table.items():
        text = given.replace("\0", "") if isinstance(given, str) else ""
        match field:
            case "name":
                agent = with_row(agent, field, f"name: {agent.name}")
            case "description":
                agent = with_text(agent, field, given, "description")
            case "developer_instructions":
                agent = with_row(agent, field, messages.SYSTEM_PROMPT, prompt=text.strip())
            case "model":
                agent = with_text(agent, field, given, "model")
            case "model_reasoning_effort" if text in _LEVELS:
                agent = with_row(agent, field, "", thinking_level=_LEVELS[text])
            case "sandbox_mode" if text in _OPEN:
                agent = without(agent, (field,), messages.SANDBOX_OPEN)
            case "sandbox_mode":
                becomes = f"tools: {', '.join(READING)}"
                agent = with_row(agent, field, becomes, tools=READING)
            case _:
                agent = without(agent, (field,), messages.NOT_HERE)
    return agent
