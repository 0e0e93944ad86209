"""Gemini CLI, `gemini --acp`: it keeps no session that another process could open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.acp.agent import METHOD, OF_QUOTA, Agent, AgentShape

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import ShapeRequest


def shape(request: ShapeRequest) -> AgentShape:
    """Have it ask for each call, and us answer."""
    del request
    return AgentShape(mode="default")


AGENT = Agent(
    "gemini",
    "Gemini CLI",
    program="gemini",
    arguments=("--acp",),
    package="@google/gemini-cli",
    # One process instead of two: the outer one ignores signals.
    environment={"GEMINI_CLI_NO_RELAUNCH": "true"},
    login="gemini, then /auth",
    logins=(".gemini/oauth_creds.json",),
    variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    writes=(".gemini",),
    permissions=frozenset({"edit", "execute"}),
    shape=shape,
    model_by=METHOD,
    keys={"gemini-api-key": "GEMINI_API_KEY"},
    resumes=False,
    usage=OF_QUOTA,
)
