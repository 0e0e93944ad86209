"""Claude Code by its adapter, `claude-agent-acp`; it refuses to work for root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.acp.agent import BY_METHOD, Agent, AgentShape

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import ShapeRequest


def shape(request: ShapeRequest) -> AgentShape:
    """Name its tools and add to its prompt as its session is opened; have it ask, and us answer."""
    session: dict[str, object] = {}
    if request.append_prompt:
        content = [{"type": "text", "text": request.append_prompt}]
        session["systemPrompt"] = {"mode": "append", "content": content}
    options: dict[str, object] = {}
    if request.no_tools or request.tools is not None:
        options["tools"] = [] if request.no_tools else list(request.tools or ())
    if options:
        session["_meta"] = {"claudeCode": {"options": options}}
    return AgentShape(session=session, mode="default")


AGENT = Agent(
    "claude",
    "Claude Code",
    program="claude-agent-acp",
    package="@agentclientprotocol/claude-agent-acp",
    environment={
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    },
    # Set in the children of a Claude Code, which may be our host.
    unset=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"),
    login="claude, then /login",
    logins=(".claude/.credentials.json",),
    variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    writes=(".claude", ".claude.json"),
    fields=frozenset({"append_system_prompt", "tools", "no_tools"}),
    permissions=frozenset({"edit"}),
    shape=shape,
    steering=BY_METHOD,
)
