"""
The names of tools in a list, and which of them must not reach pi.

In: items of a profile's, preset's or parent's list.  Out: names, or what is wrong with one.  A list
of allowed tools must never come to allow more than it names: newer pis take `+name` and `-name` for
changes of their default tools, and `*` for any characters.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pi_subagents import profile_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.pi_versions import PiTraits

_SIGNS = ("+", "-")
_PATTERN_PREFIX = "mcp__"


def tool_names(items: Iterable[str] | None) -> tuple[str, ...]:
    """Return names cut at commas, as pi will cut them, so that none hides in another."""
    names = (name.strip() for item in items or () for name in item.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def tool_name_problem(name: str, traits: PiTraits) -> str:
    """Return why a name may not stand in a list of tools, or nothing."""
    if name.startswith(_SIGNS):
        return profile_messages.tool_signed(name)
    if "*" not in name:
        return ""
    if not name.startswith(_PATTERN_PREFIX):
        return profile_messages.tool_pattern(name)
    return "" if traits.has_tool_patterns else profile_messages.no_patterns(name, traits.shown)


def is_plain(name: str) -> bool:
    """Tell whether pi, of whatever version, takes a name for exactly this tool."""
    return not name.startswith(_SIGNS) and "*" not in name


def matches(name: str, listed: Iterable[str]) -> bool:
    """Tell whether a list names a tool, itself or by a pattern."""
    return any(fnmatchcase(name, each) if "*" in each else name == each for each in listed)
