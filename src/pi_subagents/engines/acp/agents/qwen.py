"""Qwen Code, `qwen --acp`: it asks for messages between two calls, and says what each one used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.acp.agent import BY_DRAIN, OF_EACH_REQUEST, Agent, AgentShape

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import ShapeRequest


def shape(request: ShapeRequest) -> AgentShape:
    """Have it ask for each call, and us answer; tools are left out by an argument."""
    excluded = ("--exclude-tools", ",".join(request.exclude_tools))
    return AgentShape(
        arguments=excluded if request.exclude_tools else (),
        mode="default",
    )


AGENT = Agent(
    "qwen",
    "Qwen Code",
    program="qwen",
    arguments=("--acp",),
    package="@qwen-code/qwen-code",
    # One process instead of two: a signal to the outer one would leave the inner one behind.
    environment={"QWEN_CODE_NO_RELAUNCH": "true"},
    login="qwen, then /auth, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",
    logins=(".qwen/oauth_creds.json",),
    variables=("OPENAI_API_KEY",),
    writes=(".qwen",),
    fields=frozenset({"exclude_tools"}),
    permissions=frozenset({"edit"}),
    shape=shape,
    keys={"openai": "OPENAI_API_KEY"},
    steering=BY_DRAIN,
    usage=OF_EACH_REQUEST,
)
