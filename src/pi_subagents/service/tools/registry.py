"""
The tools there are, each imported when it is used.  A new one is a file and a line.

In: a tool's name, its decoded parameters, the caller's options.  Out: the tool, or its answer as
every host gets it; SubagentsError where the call is refused.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pi_subagents.errors import UnknownTool

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.service.call import Options
    from pi_subagents.service.tools.tool import Tool

# In the order in which hosts list them; each module has a `TOOL` of that name.
TOOLS = {
    "delegate_to_subagents": "pi_subagents.service.tools.delegate_to_subagents",
    "get_subagent_output": "pi_subagents.service.tools.get_subagent_output",
    "get_subagent_session": "pi_subagents.service.tools.get_subagent_session",
    "list_subagent_profiles": "pi_subagents.service.tools.list_subagent_profiles",
    "subagent": "pi_subagents.service.tools.subagent",
    "background_agent": "pi_subagents.service.tools.background_agent",
    "background_agent_status": "pi_subagents.service.tools.background_agent_status",
    "background_agent_stop": "pi_subagents.service.tools.background_agent_stop",
    "steer_subagent": "pi_subagents.service.tools.steer_subagent",
    "answer_subagent": "pi_subagents.service.tools.answer_subagent",
    "apply_subagent_changes": "pi_subagents.service.tools.apply_subagent_changes",
}


def find_tool(name: str) -> Tool[Any]:
    """Return the tool of that name; UnknownTool if there is none."""
    if name not in TOOLS:
        raise UnknownTool(name, tuple(TOOLS))
    tool: Tool[Any] = import_module(TOOLS[name]).TOOL
    return tool


def all_tools() -> tuple[Tool[Any], ...]:
    """Return every tool, in the order in which hosts list them."""
    return tuple(map(find_tool, TOOLS))


async def call(name: str, parameters: object, options: Options) -> JsonObject:
    """Return what the tool of that name answers."""
    tool = find_tool(name)
    return await tool.run(tool.parse(parameters, options), options)
