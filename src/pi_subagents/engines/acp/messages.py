"""What `engines/acp` says to people and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NOT_ON_PATH = "is not on PATH"
INSIDE_CWD = "is on PATH inside the working directory only, and not used from there"
ENDED_WITHOUT_ANSWER = (
    "The agent ended its turn without an answer: its model request probably failed, which it does "
    "not report. Look at the run's stderr.log, and at the agent itself."
)
REFUSED_BY_MODEL = "The model refused to answer."
TOO_MANY_REQUESTS = "The agent ended its turn at its own limit of model requests."
CANCELLED_UNASKED = "The agent ended its turn before it was done, as after a call it may not make."
NO_RESULT = "No result came."
SESSION_UNREADABLE = "what was kept of it cannot be read"
ORDERS_UNREADABLE = "The orders of this run cannot be read."
NO_SESSION_ID = "The agent opened a session without an id."
UNKNOWN_ANSWER = "The agent's answer says neither how the turn ended nor what went wrong."


def agent_unknown(name: str, known: Sequence[str]) -> str:
    """Return why an engine's name means nothing."""
    return (
        f'there is no agent "{name}": use one of {", ".join(known)}, or give its command in the '
        "global settings"
    )


def how_to_install(package: str) -> str:
    """Return how an agent gets there."""
    return f"Install it: `npm install -g {package}`." if package else "Give its whole path."


def session_elsewhere(place: str) -> str:
    """Return why an agent cannot go on with a session here."""
    return f"the agent keeps it for {place}"


def session_of_other_agent(agent: str) -> str:
    """Return why a session is of no use."""
    return f"it is one of the agent {agent}"


def prompt_too_long(limit: int) -> str:
    """Return why a system prompt cannot be handed over."""
    return f"is longer than {limit // 1024} KiB, which this agent takes at most"
