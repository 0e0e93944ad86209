"""Codex by its adapter, `codex-acp`: the sandbox of its mode is what keeps it from writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.acp.agent import BY_METHOD, Agent, AgentShape, Databases

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import ShapeRequest


def shape(request: ShapeRequest) -> AgentShape:
    """Have it ask before it writes, by its mode; a prompt is added to its own."""
    session: dict[str, object] = {}
    if request.append_prompt:
        content = [{"type": "text", "text": request.append_prompt}]
        session["systemPrompt"] = {"mode": "append", "content": content}
    reads_only = "edit" in request.permissions.restricted
    return AgentShape(session=session, mode="read-only" if reads_only else "")


AGENT = Agent(
    "codex",
    "Codex",
    program="codex-acp",
    package="@agentclientprotocol/codex-acp",
    login="codex login",
    logins=(".codex/auth.json",),
    variables=("OPENAI_API_KEY", "CODEX_API_KEY"),
    writes=(".codex",),
    databases=Databases("CODEX_HOME", ".codex", "state_*.sqlite"),
    fields=frozenset({"thinking_level", "append_system_prompt"}),
    permissions=frozenset({"edit"}),
    # In its sandbox a command needs leave only for what could write or reach further.
    also={"execute": "edit", "other": "edit"},
    shape=shape,
    steering=BY_METHOD,
    null_usage_fails=True,
    answers_have_ids=True,
    troubles=("codex", "error"),
)
