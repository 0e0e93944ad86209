"""
What a main model is told of us: the tools of a family, how to use them, what can be named in them.

In: which family is wanted, and the profiles and presets there are, with a line each.  Out: an
Offer, fixed for a session so that a provider's cache of prompts holds.  Every request of the main
model carries all of it, so it has a budget: what is static has a test, lists and names of models
get what is left.  A text of a tool names no other tool, since that may be switched off.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents import host_messages
from pi_subagents.core import tool_defs
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.settings import ALL_TOOLS, PRESET_TOOLS, PROFILE_TOOLS
from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.tool_defs import ToolDef

BYTES_PER_TOKEN = 3.5  # of English and JSON; of other scripts a character has more bytes, too
MAX_TOKENS = 2000
MAX_GUIDANCE_TOKENS = 450
MAX_BYTES = int(MAX_TOKENS * BYTES_PER_TOKEN)
MAX_LIST_BYTES = 480
LINE_WIDTHS = (60, 40, 24)  # of a line behind a name: as wide as all have room for
ENUM_BYTES = len(',"enum":')

_FAMILIES: Mapping[str, str] = {
    tool_defs.DELEGATE: PROFILE_TOOLS,
    tool_defs.LIST_PROFILES: PROFILE_TOOLS,
    tool_defs.SUBAGENT: PRESET_TOOLS,
    tool_defs.BACKGROUND: PRESET_TOOLS,
    tool_defs.BACKGROUND_STATUS: PRESET_TOOLS,
    tool_defs.BACKGROUND_STOP: PRESET_TOOLS,
}  # the others read and steer sub-agents of both


@value
class Guide:
    """How a tool is used: a few words for a list of tools, and rules."""

    snippet: str
    rules: tuple[str, ...] = ()


_NO_GUIDE = Guide("")
_WHEN_TO_DELEGATE = (
    "Use delegate_to_subagents for work that splits into independent parts or would fill your "
    "context, with a profile if one fits; do small things yourself."
)
_GUIDES: Mapping[str, Guide] = {
    tool_defs.DELEGATE: Guide(
        "Run tasks of your own wording in parallel sub-agents",
        (
            _WHEN_TO_DELEGATE,
            "A prompt for delegate_to_subagents says it all: no sub-agent sees this conversation.",
        ),
    ),
    tool_defs.GET_OUTPUT: Guide(
        "Read what a sub-agent answered",
        ("Read answers with get_subagent_output before you report on them.",),
    ),
    tool_defs.GET_SESSION: Guide(
        "Read all that a sub-agent said and did",
        ("Use get_subagent_session only if an answer does not explain itself.",),
    ),
    tool_defs.LIST_PROFILES: Guide("Show what each profile sets"),
    tool_defs.SUBAGENT: Guide(
        "Run tasks with presets and get the whole answers",
        ("Use subagent when a preset fits the task and you need its answer to go on.",),
    ),
    tool_defs.BACKGROUND: Guide(
        "Start a task with a preset and go on",
        ("Use background_agent when a preset fits and nobody waits for the answer.",),
    ),
    tool_defs.BACKGROUND_STATUS: Guide(
        "See how background runs stand",
        ("Do not poll with background_agent_status: ask once, with waitSeconds if you need it.",),
    ),
    tool_defs.BACKGROUND_STOP: Guide("Stop background runs"),
    tool_defs.STEER: Guide("Tell a sub-agent at work something"),
}


@value
class Offer:
    """The tools of one session, with what can be named in them, and how to use them."""

    tools: tuple[ToolDef, ...]
    models_room: int  # bytes, as JSON, that names of models may have at each place for one

    @property
    def names(self) -> tuple[str, ...]:
        """What the tools are called."""
        return tuple(tool.name for tool in self.tools)


def guide_of(tool: str) -> Guide:
    """Return how a tool is used."""
    return _GUIDES.get(tool, _NO_GUIDE)


def instructions(tools: Sequence[str]) -> str:
    """Return all that is to be said to a host which knows no rules of single tools."""
    rules = [rule for tool in tools for rule in guide_of(tool).rules]
    return "\n".join([host_messages.MCP_INSTRUCTIONS, *rules])


def make_offer(
    family: str = ALL_TOOLS,
    profiles: Mapping[str, str] | None = None,
    presets: Mapping[str, str] | None = None,
) -> Offer:
    """Return what is offered; without a mapping it is not known what there is."""
    tools = [tool for tool in tool_defs.TOOLS if family in (ALL_TOOLS, _family(tool, family))]
    lists = {
        tool_defs.DELEGATE: ("Profiles", profiles),
        tool_defs.SUBAGENT: ("Presets", presets),
    }
    room = max(MAX_BYTES - _told_bytes(tools), 0)
    most = min(MAX_LIST_BYTES, room // len(lists))
    for place, tool in enumerate(tools):
        what, there = lists.get(tool.name, ("", None))
        if there is not None:
            told = named(what, there, most - 1)
            tools[place] = replace(tool, description=f"{tool.description} {told}".rstrip())
    left = max(MAX_BYTES - _told_bytes(tools), 0)
    places = sum(json.dumps(tool.parameters).count('"model":') for tool in tools)
    return Offer(tuple(tools), max(left // max(places, 1) - ENUM_BYTES, 0))


def named(what: str, there: Mapping[str, str], most: int) -> str:
    """Return names with a line each, as far as there is room: names first, then lines."""
    if not there:
        return f"{what}: none."
    names = sorted(there)
    kept = list(names)
    while kept and _size(_listed(what, kept, names, {})) > most:
        kept.pop()
    if not kept:
        return ""
    lines: dict[str, str] = {}
    for width in LINE_WIDTHS:
        lines = {name: line for name in kept if (line := one_line(there[name], width))}
        if _size(_listed(what, kept, names, lines)) <= most:
            break
    while _size(told := _listed(what, kept, names, lines)) > most:
        lines.popitem()
    return told


def told_to_pi(offer: Offer) -> str:
    """Return all that pi puts into a main model's context, for counting."""
    guides = [(name, guide_of(name)) for name in offer.names]
    snippets = [f"- {name}: {guide.snippet}" for name, guide in guides if guide.snippet]
    rules = [f"- {rule}" for _, guide in guides for rule in guide.rules]
    return "\n".join([_as_json(offer.tools), *snippets, *rules])


def told_over_mcp(offer: Offer) -> str:
    """Return all that a host may put into a main model's context, for counting."""
    return f"{_as_json(offer.tools)}\n{instructions(offer.names)}"


def tokens(text: str) -> float:
    """Return about how many tokens a text has."""
    return _size(text) / BYTES_PER_TOKEN


def _family(tool: ToolDef, otherwise: str) -> str:
    return _FAMILIES.get(tool.name, otherwise)


def _listed(what: str, kept: Sequence[str], names: Sequence[str], lines: Mapping[str, str]) -> str:
    told = [f"{name} ({lines[name]})" if name in lines else name for name in kept]
    if more := len(names) - len(kept):
        told.append(f"and {more} more")
    return f"{what}: {', '.join(told)}."


def _told_bytes(tools: Sequence[ToolDef]) -> int:
    """Return the bytes that the tools take with their guidance, by the longer of two ways."""
    offer = Offer(tuple(tools), 0)
    return max(_size(told_to_pi(offer)), _size(told_over_mcp(offer)))


def _as_json(tools: Sequence[ToolDef]) -> str:
    told = [
        {"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools
    ]
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
