from __future__ import annotations

import pytest

from pi_subagents.hosts.catalogue import HOSTS, JSON, TOML

ARGV = ("/opt/subagents", "mcp")
SPLIT = {"command": "/opt/subagents", "args": ["mcp"]}


def test_every_host_is_known_by_its_name() -> None:
    assert list(HOSTS) == [
        "claude-code", "codex", "cursor", "vscode", "zed", "gemini", "opencode", "qwen-code",
    ]  # fmt: skip
    assert {name: host.name for name, host in HOSTS.items()} == {name: name for name in HOSTS}


@pytest.mark.parametrize(
    ("name", "form", "key", "entry"),
    [
        ("claude-code", JSON, "mcpServers", {"type": "stdio", **SPLIT}),
        (
            "codex",
            TOML,
            "mcp_servers",
            {**SPLIT, "startup_timeout_sec": 20, "tool_timeout_sec": 120},
        ),
        ("cursor", JSON, "mcpServers", {"type": "stdio", **SPLIT}),
        ("vscode", JSON, "servers", {"type": "stdio", **SPLIT}),
        ("zed", JSON, "context_servers", {"source": "custom", **SPLIT}),
        ("gemini", JSON, "mcpServers", SPLIT),
        ("opencode", JSON, "mcp", {"type": "local", "command": list(ARGV), "timeout": 120_000}),
        ("qwen-code", JSON, "mcpServers", SPLIT),
    ],
)
def test_an_entry_has_the_form_its_host_documents(
    name: str, form: str, key: str, entry: dict[str, object]
) -> None:
    host = HOSTS[name]
    assert (host.format, host.key, host.entry(ARGV)) == (form, key, entry)
