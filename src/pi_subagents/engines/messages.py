"""What `engines` says to people, whatever the engine."""

from __future__ import annotations

NO_PROGRAM = "has no program that a person could start"
NOTHING_TO_SET_UP = "There is nothing to set up."
NO_SESSIONS = "its engine keeps none"


def no_steering(engine: str) -> str:
    """Return why a message cannot be delivered."""
    return f"Sub-agents of the engine {engine} take no messages while they work."


def no_offline_model(engine: str) -> str:
    """Return why the offline model cannot stand in."""
    return f"the engine {engine} has no offline model"
