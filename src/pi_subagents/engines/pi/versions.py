"""
What differs between the versions of pi that we know: the one table, and how it is read.

In: a version as pi reports it, or None where nobody knows.  Out: PiTraits.  A pi of an unknown
version gets nothing that an old one would refuse.  Whatever depends on pi's version asks a trait;
no version is compared anywhere else.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = tuple[int, int, int]

# Every test on the real pi passes on each of these (`make e2e-versions`).
PINNED_PI_VERSION = "1.5.0"
TESTED_VERSIONS = ("0.87.1", PINNED_PI_VERSION)

# Built-in extensions, MCP servers and the two tools that reach them.
MCP_SINCE: Version = (0, 99, 0)
# `--provider` without `--model` ends pi; before, pi ignored it.
PROVIDER_NEEDS_MODEL_SINCE: Version = (1, 0, 0)
AZURE_RENAMED_SINCE: Version = (1, 0, 3)
# `--no-mcp`, and `*` in the names of tools.
NO_MCP_SINCE: Version = (1, 0, 4)
# `--model PROVIDER/ID` where the provider's own name has slashes: a server of llama.cpp.
SLASHED_PROVIDERS_SINCE: Version = (1, 5, 0)

OWN_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
_RESOURCE_TOOLS = ("list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource")
_MCP_PREFIX = "mcp__"
BUILTIN_PREFIX = "builtin:"
_MCP_EXTENSION = "builtin:mcp"
_TOOL_EXTENSIONS = {"codemode": "builtin:codemode", "tool_search": "builtin:tool-search"}
_FILES = (
    "models.json",
    "auth.json",
    "settings.json",
    "trust.json",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
_AZURE_NAMES = ("azure-openai-responses", "azure")
_NUMBERS = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


@value
class PiTraits:
    """What a pi of one version takes, offers and reads."""

    version: str  # as it is reported; empty where nobody knows
    has_mcp: bool  # MCP servers, codemode, tool search, `builtin:` extensions
    has_no_mcp_option: bool
    has_tool_patterns: bool
    provider_needs_model: bool
    has_slashed_providers: bool
    renamed_providers: Mapping[str, str]  # a name of another version -> this one's
    tools: tuple[str, ...]  # names that pi itself brings tools for
    flags: tuple[str, ...]  # options without a value that not every version has
    files: tuple[str, ...]  # what it reads of its own directory and of a trusted project's `.pi`
    self_contained: bool  # its bundle holds pi's other packages; before, it loaded them
    is_newer: bool  # than the newest that is tested

    @property
    def shown(self) -> str:
        """The version in a sentence."""
        return f"pi {self.version}" if self.version else "this pi"

    @property
    def without_mcp(self) -> tuple[str, ...]:
        """The options that keep MCP servers from being started, where there are such."""
        return ("--no-mcp",) if self.has_no_mcp_option else ()

    def knows_tool(self, name: str) -> bool:
        """Return whether pi itself may have a tool of this name."""
        return name in self.tools or (self.has_mcp and is_mcp_tool(name))

    def builtin_extension(self, name: str) -> str:
        """Return the built-in extension without which pi itself has no tool of this name."""
        if not self.has_mcp:
            return ""
        return _MCP_EXTENSION if is_mcp_tool(name) else _TOOL_EXTENSIONS.get(name, "")


def is_mcp_tool(name: str) -> bool:
    """Return whether a tool, or a pattern of such, is a server's or reads from one."""
    return name.startswith(_MCP_PREFIX) or name in _RESOURCE_TOOLS


def needs_mcp(names: tuple[str, ...]) -> bool:
    """Return whether tools or extensions of these names are of no use without MCP servers."""
    reaching = {*_TOOL_EXTENSIONS, *_TOOL_EXTENSIONS.values(), _MCP_EXTENSION}
    return any(name in reaching or is_mcp_tool(name) for name in names)


@cache
def traits_of(version: str | None) -> PiTraits:
    """Return what is known of a version; of an unknown one, what the oldest has."""
    numbers = version_numbers(version or "")
    has_mcp = numbers >= MCP_SINCE
    has_no_mcp = numbers >= NO_MCP_SINCE
    old, new = _AZURE_NAMES
    return PiTraits(
        version=version or "",
        has_mcp=has_mcp,
        has_no_mcp_option=has_no_mcp,
        has_tool_patterns=has_no_mcp,
        provider_needs_model=numbers >= PROVIDER_NEEDS_MODEL_SINCE,
        has_slashed_providers=numbers >= SLASHED_PROVIDERS_SINCE,
        renamed_providers={old: new} if numbers >= AZURE_RENAMED_SINCE else {new: old},
        tools=(*OWN_TOOLS, *(_TOOL_EXTENSIONS if has_mcp else ())),
        flags=("--no-mcp",) if has_no_mcp else (),
        files=(*_FILES, *(("mcp.json",) if has_mcp else ())),
        self_contained=has_mcp,
        is_newer=numbers > version_numbers(PINNED_PI_VERSION),
    )


def version_text(version: Version) -> str:
    """Return a version as people write it."""
    return ".".join(map(str, version))


def version_numbers(version: str) -> Version:
    """Return what a version is compared by; one that is none comes before all others."""
    found = _NUMBERS.match(version)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)
