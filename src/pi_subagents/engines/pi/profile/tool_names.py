"""
The names of tools in a list, and which of them must not reach pi.

In: items of a profile's, preset's or parent's list.  Out: names, or what is wrong with one.  A list
of allowed tools must never come to allow more than it names: newer pis take `+name` and `-name` for
changes of their default tools, and `*` for any characters.  Names are read as pi reads them.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pi_subagents.engines.pi import messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.engines.pi.versions import PiTraits

_SIGNS = ("+", "-")
# What JavaScript's trim() takes away.  Python's strip() keeps U+FEFF, behind which a sign would
# come to light in pi only, and takes away what pi keeps, such as U+0085.
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_PATTERN_PREFIX = "mcp__"


def tool_names(items: Iterable[str] | None) -> tuple[str, ...]:
    """Return names cut at commas, as pi will cut them, so that none hides in another."""
    names = (name.strip(_BLANKS) for item in items or () for name in item.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def tool_name_problem(name: str, traits: PiTraits) -> str:
    """Return why a name may not stand in a list of tools, or nothing."""
    name = name.strip(_BLANKS)
    if name.startswith(_SIGNS):
        return messages.tool_signed(name)
    if "*" not in name:
        return ""
    if not name.startswith(_PATTERN_PREFIX):
        return messages.tool_pattern(name)
    return "" if traits.has_tool_patterns else messages.no_patterns(name, traits.shown)


def is_plain(name: str) -> bool:
    """Return whether pi, of whatever version, takes a name for exactly this tool."""
    return not name.strip(_BLANKS).startswith(_SIGNS) and "*" not in name


def matches(name: str, listed: Iterable[str]) -> bool:
    """Return whether a list names a tool, itself or by a pattern."""
    return any(fnmatchcase(name, each) if "*" in each else name == each for each in listed)
