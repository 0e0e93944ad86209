"""
What a run wants of its child beside its prompt: its orders, for our extension in the child.

In: the request for a child.  Out: options, environment and text of them; nothing where nothing is
wanted, so that a child without orders is started as ever.  Whatever differs between runs is in the
text alone, which each run gives its child: what is in the arguments is shared by all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.answer.parameters import as_parameters
from pi_subagents.core.answer.schema import REFERENCES
from pi_subagents.core.own_tools import ASK_TOOL, SUBMIT_TOOL
from pi_subagents.core.profile.profile import ASK_SOMEBODY
from pi_subagents.core.value import value
from pi_subagents.engines.pi.conversation import JSON_MODE
from pi_subagents.engines.pi.invocation import NOTHING, Invocation
from pi_subagents.engines.pi.profile.options import matches, tool_names
from pi_subagents.engines.pi.tool_kinds import words_by_tool
from pi_subagents.system.schema_check import checker_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.engines.base import ChildRequest

ORDERS_VARIABLE = "PI_SUBAGENTS_ORDERS"
_SLOW = (*REFERENCES, "pattern", "patternProperties", "uniqueItems")


@value
class Orders:
    """What is added to a child for the sake of its orders."""

    text: str = ""  # pure ASCII, on one line
    invocation: Invocation = NOTHING
    tools: tuple[str, ...] = ()  # that they bring along


NO_ORDERS = Orders()


def orders_for(request: ChildRequest, mode: str) -> Orders:
    """Return the orders of a run whose child is spoken to in this mode."""
    wanted: dict[str, object] = {}
    tools: tuple[str, ...] = ()
    if request.schema is not None and _may_have(SUBMIT_TOOL, request):
        wanted |= as_parameters(request.schema)
        if may_take_long(request.schema):
            wanted["checker"] = checker_command()
        tools += (SUBMIT_TOOL,)
    profile = request.profile
    if profile.may_ask:
        wanted["questions"] = profile.questions == ASK_SOMEBODY and _may_have(ASK_TOOL, request)
        tools += (ASK_TOOL,) if wanted["questions"] else ()
    if profile.permissions.restricted:
        wanted["permissions"] = words_by_tool(profile.permissions, (SUBMIT_TOOL, ASK_TOOL))
    if not wanted:
        return NO_ORDERS
    return Orders(
        json.dumps(wanted, separators=(",", ":")),
        Invocation(
            ("--extension", str(extension_path())),
            {ORDERS_VARIABLE: request.orders_file} if mode == JSON_MODE else {},
        ),
        tools,
    )


def extension_path() -> Path:
    """Return the file that pi loads into a child that has orders."""
    return Path(__file__).with_name("child_extension.mjs")


def may_take_long(schema: Mapping[str, object]) -> bool:
    """Return whether there may be a value for which pi itself would check the schema for ever."""
    text = json.dumps(schema)
    return any(f'"{keyword}"' in text for keyword in _SLOW)


def _may_have(tool: str, request: ChildRequest) -> bool:
    """Return whether a profile leaves room for a tool of ours: no tools means none of ours too."""
    profile = request.profile
    if profile.no_tools or profile.tools == ():
        return False
    return not matches(tool, tool_names(profile.exclude_tools))
