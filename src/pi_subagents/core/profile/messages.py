"""What `core/profile` says to people."""

from __future__ import annotations

# What can be wrong with a profile or preset: a field, a file, fields against each other.


NOT_EDITABLE = (
    "its front matter cannot be changed line by line without changing more; edit the file by hand"
)


def wrong_thinking_level(levels: tuple[str, ...]) -> str:
    """Return which thinking levels there are."""
    return f'"thinkingLevel" must be one of {", ".join(levels)}; left out'


def wrong_isolation(choices: tuple[str, ...]) -> str:
    """Return which isolations there are."""
    return f'"isolation" must be one of {", ".join(choices)}; every task gets a new process'


def wrong_mcp(choices: tuple[str, ...]) -> str:
    """Return what a profile may say of MCP servers."""
    return f'"mcp" must be one of {", ".join(choices)}; no MCP server is used'
