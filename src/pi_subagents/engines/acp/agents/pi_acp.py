"""pi by its adapter, `pi-acp`; the engine `pi` can do more."""

from __future__ import annotations

from pi_subagents.engines.acp.agent import UNTOLD, Agent

AGENT = Agent(
    "pi-acp",
    "pi by its adapter",
    program="pi-acp",
    package="pi-acp",
    needs=("pi",),
    environment={"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
    login="pi, then /login",
    logins=(".pi/agent/auth.json",),
    writes=(".pi",),
    fields=frozenset({"thinking_level"}),
    takes_mcp=False,
    usage=UNTOLD,
    question_ids="pi-ui-",
    chatter=(
        r"pi v\d.*",
        r"Queued message.*",
        r"Starting queued message.*",
        r"Retry finished, resuming\.",
    ),
    retrying=r"Retrying \(attempt (\d{1,6})/(\d{1,6}), waiting (\d{1,6})s\)\.\.\.",
)
