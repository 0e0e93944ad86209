"""opencode, `opencode acp`: one process, configured by one variable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents.engines.acp.agent import (
    BY_PROMPT,
    OF_LAST_REQUEST,
    Agent,
    AgentShape,
    Databases,
)

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import ShapeRequest

CONFIG = "OPENCODE_CONFIG_CONTENT"
# Its own name of what it asks about, by our kind.
_ASKS = {"edit": "edit", "execute": "bash", "fetch": "webfetch"}
_NAME = "subagent"  # of the agent that has the profile's prompt


def shape(request: ShapeRequest) -> AgentShape:
    """Add to its configuration; what the user has in the variable stays, but for what we set."""
    config: dict[str, object] = {}
    if asked := [_ASKS[kind] for kind in request.permissions.restricted if kind in _ASKS]:
        config["permission"] = dict.fromkeys(asked, "ask")
    own: dict[str, object] = {}
    if request.system_prompt:
        own["prompt"] = request.system_prompt
    if request.exclude_tools:
        own["tools"] = dict.fromkeys(request.exclude_tools, False)
    if own:
        config["agent"] = {_NAME: {"mode": "primary", **own}}
        config["default_agent"] = _NAME
    if not config:
        return AgentShape()
    return AgentShape(
        environment={CONFIG: json.dumps(_merged(_given(request.env.get(CONFIG)), config))}
    )


def _given(text: str | None) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _merged(given: dict[str, object], added: dict[str, object]) -> dict[str, object]:
    merged = dict(given)
    for key, new in added.items():
        old = merged.get(key)
        merged[key] = _merged(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
    return merged


AGENT = Agent(
    "opencode",
    "opencode",
    program="opencode",
    arguments=("acp",),
    package="opencode-ai",
    environment={
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    },
    login="opencode auth login",
    logins=(".local/share/opencode/auth.json",),
    writes=(
        ".local/share/opencode",
        ".local/state/opencode",
        ".config/opencode",
        ".cache/opencode",
    ),
    databases=Databases("XDG_DATA_HOME", ".local/share", "opencode/opencode*.db"),
    fields=frozenset({"thinking_level", "system_prompt", "exclude_tools"}),
    permissions=frozenset(_ASKS),
    shape=shape,
    steering=BY_PROMPT,
    usage=OF_LAST_REQUEST,
)
