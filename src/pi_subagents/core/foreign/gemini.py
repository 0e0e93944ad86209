"""
Agents of Gemini CLI: `.gemini/agents/*.md`, front matter and a system prompt.

In: a file's name and bytes.  Out: one ForeignAgent, or AgentFileUnreadable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.foreign import messages
from pi_subagents.core.foreign.agent import (
    front_matter,
    named,
    names_of,
    with_row,
    with_text,
    with_tools,
    without,
)
from pi_subagents.errors import AgentFileUnreadable

if TYPE_CHECKING:
    from pi_subagents.core.foreign.agent import ForeignAgent

TOOLS = {
    "read_file": "read", "read_many_files": "read", "write_file": "write", "replace": "edit",
    "edit": "edit", "run_shell_command": "bash", "glob": "find", "grep_search": "grep",
    "search_file_content": "grep", "list_directory": "ls",
}  # fmt: skip


def parse_gemini(stem: str, data: bytes) -> tuple[ForeignAgent, ...]:
    """Return the agent of a file."""
    content = front_matter(data)
    if not content.fields:
        raise AgentFileUnreadable(messages.NO_AGENT)
    agent = named(content.fields.get("name"), stem)
    for field, given in content.fields.items():
        match field:
            case "name":
                agent = with_row(agent, field, f"name: {agent.name}")
            case "description":
                agent = with_text(agent, field, given, "description")
            case "model":
                agent = with_text(agent, field, given, "model")
            case "tools":
                agent = with_tools(agent, field, names_of(field, given), TOOLS)
            case _:
                agent = without(agent, (field,), messages.NOT_HERE)
    return (with_row(agent, messages.BODY, "", prompt=content.body),)
