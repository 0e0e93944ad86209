"""
Agents of opencode: `.opencode/agent/*.md`, called after their files.

In: a file's name and bytes.  Out: one ForeignAgent, or AgentFileUnreadable.  What opencode would
ask about (`permission: ask`) is forbidden here: nobody could be asked.
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
from pi_subagents.errors import AgentFileUnreadable

if TYPE_CHECKING:
    from pi_subagents.core.definitions.frontmatter import Value
    from pi_subagents.core.foreign.agent import ForeignAgent

TOOLS = {
    "read": "read", "bash": "bash", "edit": "edit", "multiedit": "edit", "patch": "edit",
    "write": "write", "grep": "grep", "glob": "find", "list": "ls",
}  # fmt: skip
_EDITS = ("edit", "write")  # what `permission.edit` is about


def parse_opencode(stem: str, data: bytes) -> tuple[ForeignAgent, ...]:
    """Return the agent of a file."""
    content = front_matter(data)
    if not (content.fields or content.body):
        raise AgentFileUnreadable(messages.NO_AGENT)
    agent = named(stem)
    for field, given in content.fields.items():
        agent = _with_field(agent, field, given)
    if content.body or not agent.prompt:
        agent = with_row(agent, messages.BODY, "", prompt=content.body)
    return (agent,)


def _with_field(agent: ForeignAgent, field: str, given: Value) -> ForeignAgent:
    text = given if isinstance(given, str) else ""
    match field:
        case "description":
            return with_text(agent, field, given, "description")
        case "model":
            return with_text(agent, field, given, "model")
        case "prompt" if text.startswith("{file:"):
            return without(agent, (field,), messages.PROMPT_IN_FILE)
        case "prompt":
            return with_row(agent, field, messages.SYSTEM_PROMPT, prompt=text)
        case "tools" if isinstance(given, dict):
            return _with_switches(agent, field, given)
        case "tools":
            return with_tools(agent, field, names_of(field, given), TOOLS)
        case "permission" if isinstance(given, dict):
            return with_excluded(agent, field, _forbidden(given), TOOLS)
        case "permission":
            return with_excluded(agent, field, [*TOOLS] if _forbids(given) else [], TOOLS)
        case "disable" if text == "true":
            return without(agent, (field,), messages.IS_DISABLED)
    return without(agent, (field,), messages.NOT_HERE)


def _with_switches(agent: ForeignAgent, field: str, given: dict[str, Value]) -> ForeignAgent:
    """Read which tools are on and off; where `*` is off, only those that are on are left."""
    if given.get("*") == "false":
        return with_tools(agent, field, [k for k, on in given.items() if on == "true"], TOOLS)
    off = [name for name, on in given.items() if on != "true"]
    agent = with_excluded(agent, field, off, TOOLS)
    return agent if off else with_row(agent, field, messages.ALL_TOOLS)


def _forbidden(given: dict[str, Value]) -> list[str]:
    """Return what may not be used without a question; of a tool with rules, all of it."""
    names = [name for name, rule in given.items() if _forbids(rule)]
    if "*" in names:
        allowed = {name for name, rule in given.items() if rule == "allow"}
        names = [name for name in TOOLS if name not in allowed]
    return [each for name in names for each in (_EDITS if name == "edit" else (name,))]


def _forbids(rule: Value) -> bool:
    if isinstance(rule, dict):
        return any(_forbids(each) for each in rule.values())
    return rule != "allow"
