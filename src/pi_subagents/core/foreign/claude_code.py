"""
Agents of Claude Code: `.claude/agents/*.md`, front matter and a system prompt.

In: a file's name and bytes.  Out: one ForeignAgent, or AgentFileUnreadable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.foreign import messages
from pi_subagents.core.foreign.agent import (
    front_matter,
    named,
    names_of,
    with_excluded,
    with_row,
    with_text,
    with_tools,
    without,
)
from pi_subagents.core.profile.profile import THINKING_LEVELS
from pi_subagents.errors import AgentFileUnreadable

if TYPE_CHECKING:
    from pi_subagents.core.definitions.frontmatter import Value
    from pi_subagents.core.foreign.agent import ForeignAgent

TOOLS = {
    "read": "read", "bash": "bash", "edit": "edit", "multiedit": "edit", "write": "write",
    "grep": "grep", "glob": "find", "ls": "ls",
}  # fmt: skip


def parse_claude_code(stem: str, data: bytes) -> tuple[ForeignAgent, ...]:
    """Return the agent of a file."""
    content = front_matter(data)
    if not content.fields:
        raise AgentFileUnreadable(messages.NO_AGENT)
    agent = named(content.fields.get("name"), stem)
    for field, given in content.fields.items():
        agent = _with_field(agent, field, given)
    return (with_row(agent, messages.BODY, "", prompt=content.body),)


def _with_field(agent: ForeignAgent, field: str, given: Value) -> ForeignAgent:
    text = given if isinstance(given, str) else ""
    match field:
        case "name":
            return with_row(agent, field, f"name: {agent.name}")
        case "description":
            return with_text(agent, field, given, "description")
        case "model":
            return with_text(agent, field, given, "model")
        case "tools":
            return with_tools(agent, field, names_of(field, given), TOOLS)
        case "disallowedTools":
            return with_excluded(agent, field, names_of(field, given), TOOLS)
        case "skills":
            return with_row(agent, field, "", skills=names_of(field, given))
        case "effort" if text in THINKING_LEVELS:
            return with_row(agent, field, "", thinking_level=text)
    return without(agent, (field,), messages.NOT_HERE)
