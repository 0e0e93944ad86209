"""
Of which kind pi's tools are, for the permissions of a profile.

In: permissions by kind.  Out: a word for each tool that is known, and one for every other: MCP
tools, and those of extensions.  Tools that only pass calls on are left to what they call.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pi_subagents.core.profile.permissions import ALLOWED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile.permissions import Permissions

KIND_OF_TOOL: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("read", "ls", "grep", "find"), "read"),
        **dict.fromkeys(("edit", "write"), "edit"),
        "bash": "execute",
        # pi has none of its own; extensions call theirs so.
        **dict.fromkeys(("fetch", "web_fetch", "webfetch", "web_search", "websearch"), "fetch"),
    }
)
# Scripts of codemode and what tool_search finds are calls of their own.
_PASS_ON = ("codemode", "tool_search")


def words_by_tool(permissions: Permissions, own_tools: tuple[str, ...]) -> dict[str, object]:
    """Return what our extension in the child goes by; our own tools are always allowed."""
    words = permissions.by_kind
    known = {tool: words[kind] for tool, kind in KIND_OF_TOOL.items()}
    free = dict.fromkeys((*_PASS_ON, *own_tools), ALLOWED)
    return {"tools": {**known, **free}, "other": words["other"]}
