"""
The hosts that can start our MCP server: where each keeps its servers, and what an entry looks like.

In: nothing but the table below.  Out: places as data and entries as values; a new host is one more
row.  Sources and time-outs of each host: docs/mcp.md, "Hosts".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JSON, TOML = "json", "toml"
SERVER_NAME = "subagents"
SERVER_ARGUMENTS = ("mcp",)
# Longer than `subagents mcp --answer-within` ever waits by default (50 s).
TOOL_TIMEOUT_S = 120
STARTUP_TIMEOUT_S = 20


@value
class UserDirectory:
    """A directory of the user's: below home, or wherever a variable says."""

    below_home: str
    variable: str = ""
    below_home_on_mac: str | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """
    One program that starts MCP servers.

    Of several files the first that exists counts, else the first.  `key` holds the servers; an
    entry always has what `fixed` says, and what `defaults` says unless its owner chose otherwise.
    """

    name: str
    title: str
    directory: UserDirectory
    user_files: tuple[str, ...]
    project_files: tuple[str, ...]
    key: str
    check: str
    format: str = JSON
    is_one_list: bool = False
    fixed: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)

    def required(self, argv: Sequence[str]) -> dict[str, object]:
        """Return what an entry must say to start this command."""
        if self.is_one_list:
            return {**self.fixed, "command": list(argv)}
        return {**self.fixed, "command": argv[0], "args": list(argv[1:])}

    def entry(self, argv: Sequence[str]) -> dict[str, object]:
        """Return a new entry that starts this command."""
        return {**self.required(argv), **self.defaults}


_CONFIG = UserDirectory(".config", "XDG_CONFIG_HOME")
_VSCODE = UserDirectory(".config", "XDG_CONFIG_HOME", "Library/Application Support")
_STDIO = {"type": "stdio"}

_TABLE = (
    Host(
        "claude-code",
        "Claude Code",
        UserDirectory("", "CLAUDE_CONFIG_DIR"),
        (".claude.json",),
        (".mcp.json",),
        "mcpServers",
        "claude mcp list",
        fixed=_STDIO,
    ),
    Host(
        "codex",
        "Codex",
        UserDirectory(".codex", "CODEX_HOME"),
        ("config.toml",),
        (".codex/config.toml",),
        "mcp_servers",
        "codex mcp list",
        format=TOML,
        # Older versions give up after 10 s and 60 s.
        defaults={"startup_timeout_sec": STARTUP_TIMEOUT_S, "tool_timeout_sec": TOOL_TIMEOUT_S},
    ),
    Host(
        "cursor",
        "Cursor",
        UserDirectory(".cursor"),
        ("mcp.json",),
        (".cursor/mcp.json",),
        "mcpServers",
        "cursor-agent mcp list",
        fixed=_STDIO,
    ),
    Host(
        "vscode",
        "VS Code",
        _VSCODE,
        ("Code/User/mcp.json",),
        (".vscode/mcp.json",),
        "servers",
        "the command MCP: List Servers",
        fixed=_STDIO,
    ),
    Host(
        "zed",
        "Zed",
        _CONFIG,
        ("zed/settings.json",),
        (".zed/settings.json",),
        "context_servers",
        "a green dot beside it in the Agent Panel's settings",
        fixed={"source": "custom"},  # older versions leave out an entry without it
    ),
    Host(
        "gemini",
        "Gemini CLI",
        UserDirectory("", "GEMINI_CLI_HOME"),
        (".gemini/settings.json",),
        (".gemini/settings.json",),
        "mcpServers",
        "gemini mcp list",
    ),
    Host(
        "opencode",
        "opencode",
        _CONFIG,
        ("opencode/opencode.json", "opencode/opencode.jsonc"),
        ("opencode.json", "opencode.jsonc"),
        "mcp",
        "opencode mcp list",
        is_one_list=True,
        fixed={"type": "local"},
        defaults={"timeout": TOOL_TIMEOUT_S * 1000},  # its own default is 5 s
    ),
    Host(
        "qwen-code",
        "Qwen Code",
        UserDirectory(".qwen", "QWEN_HOME"),
        ("settings.json",),
        (".qwen/settings.json",),
        "mcpServers",
        "qwen mcp list",
    ),
)
HOSTS: Mapping[str, Host] = {host.name: host for host in _TABLE}
