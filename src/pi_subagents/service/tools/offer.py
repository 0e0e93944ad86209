"""
What a main model gets of us: the tools of a family, how to use them, what can be named in them.

In: which family is wanted, and the profiles and presets there are, with a line each.  Out: an
Offer, fixed for a session so that a provider's cache of prompts holds.  Every request of the main
model carries all of it, so it has a budget: what is static has a test, lists and names of models
get what is left.  A text of a tool names no other tool, since that may be switched off.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pi_subagents.config.preset_files import load_presets
from pi_subagents.config.profile_files import load_profiles
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.definitions.definition import Loaded
from pi_subagents.core.definitions.found import PRESET, PROFILE
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.preset.preset import preset_line
from pi_subagents.core.profile.text import profile_line
from pi_subagents.core.settings import ALL_TOOLS
from pi_subagents.core.value import replace, value
from pi_subagents.service.definitions.choice import DefinitionRules
from pi_subagents.service.tools import messages
from pi_subagents.service.tools.registry import all_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.service.tools.tool import Tool

L = TypeVar("L", bound=Loaded)

BYTES_PER_TOKEN = 3.5  # of English and JSON; of other scripts a character has more bytes, too
MAX_TOKENS = 2000
MAX_GUIDANCE_TOKENS = 450
MAX_RETURNED_TOKENS = 100
MAX_BYTES = int(MAX_TOKENS * BYTES_PER_TOKEN)
MAX_LIST_BYTES = 480
LINE_WIDTHS = (60, 40, 24)  # of a line behind a name: as wide as all have room for
ENUM_BYTES = len(',"enum":')
# What MCP hosts read of a tool's value: that there is one.  Some show that to their model.
RETURNED: Mapping[str, object] = {"type": "object"}


@value
class Offer:
    """The tools of one session, with what can be named in them, and how to use them."""

    tools: tuple[Tool[Any], ...]
    models_room: int  # bytes, as JSON, that names of models may have at each place for one

    @property
    def names(self) -> tuple[str, ...]:
        """What the tools are called."""
        return tuple(tool.name for tool in self.tools)


def instructions(tools: Iterable[Tool[Any]]) -> str:
    """Return the instructions for a host which knows no rules of single tools."""
    rules = [rule for tool in tools for rule in tool.rules]
    return "\n".join([messages.MCP_INSTRUCTIONS, *rules])


def make_offer(
    family: str = ALL_TOOLS,
    profiles: Mapping[str, str] | None = None,
    presets: Mapping[str, str] | None = None,
) -> Offer:
    """Return what is offered; without a mapping it is not known what there is."""
    families = (ALL_TOOLS, family)
    tools = [tool for tool in all_tools() if family == ALL_TOOLS or tool.family in families]
    lists = {PROFILE: ("Profiles", profiles), PRESET: ("Presets", presets)}
    room = max(MAX_BYTES - _context_bytes(tools), 0)
    most = min(MAX_LIST_BYTES, room // len(lists))
    for place, tool in enumerate(tools):
        what, there = lists.get(tool.lists, ("", None))
        if there is not None:
            names = named(what, there, most - 1)
            tools[place] = replace(tool, description=f"{tool.description} {names}".rstrip())
    left = max(MAX_BYTES - _context_bytes(tools), 0)
    places = sum(json.dumps(tool.parameters).count('"model":') for tool in tools)
    return Offer(tuple(tools), max(left // max(places, 1) - ENUM_BYTES, 0))


def offered_tools(cwd: Path, env: Mapping[str, str], *, trusted: bool) -> Offer:
    """Return what there is to offer now."""
    settings, _ = load_settings(cwd, env)
    rules = DefinitionRules.of(settings, env, trusted=trusted)

    def lines(kind: str, found: Definitions[L], line: Callable[[L], str]) -> dict[str, str]:
        return {
            name: line(choice.loaded) if choice.loaded else ""
            for name, choice in rules.choose_all(kind, found).items()
            if choice.loaded or choice.asks
        }

    profiles = lines(PROFILE, load_profiles(cwd, env), lambda loaded: profile_line(loaded.profile))
    presets = lines(PRESET, load_presets(cwd, env), lambda loaded: preset_line(loaded.preset))
    return make_offer(settings.tools, profiles, presets)


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
    while _size(shown := _listed(what, kept, names, lines)) > most:
        lines.popitem()
    return shown


def pi_context(offer: Offer) -> str:
    """Return all that pi puts into a main model's context, for counting."""
    snippets = [f"- {tool.name}: {tool.snippet}" for tool in offer.tools]
    rules = [f"- {rule}" for tool in offer.tools for rule in tool.rules]
    return "\n".join([_as_json(offer.tools), *snippets, *rules])


def mcp_context(offer: Offer) -> str:
    """Return all that a host may put into a main model's context, for counting."""
    return f"{_as_json(offer.tools, outputSchema=RETURNED)}\n{instructions(offer.tools)}"


def tokens(text: str) -> float:
    """Return about how many tokens a text has."""
    return _size(text) / BYTES_PER_TOKEN


def _listed(what: str, kept: Sequence[str], names: Sequence[str], lines: Mapping[str, str]) -> str:
    shown = [f"{name} ({lines[name]})" if name in lines else name for name in kept]
    if more := len(names) - len(kept):
        shown.append(f"and {more} more")
    return f"{what}: {', '.join(shown)}."


def _context_bytes(tools: Sequence[Tool[Any]]) -> int:
    """Return the bytes that the tools take with their guidance, by the longer of two ways."""
    offer = Offer(tuple(tools), 0)
    return max(_size(pi_context(offer)), _size(mcp_context(offer)))


def _as_json(tools: Sequence[Tool[Any]], **more: object) -> str:
    shown = [
        {"name": t.name, "description": t.description, "parameters": t.parameters, **more}
        for t in tools
    ]
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
