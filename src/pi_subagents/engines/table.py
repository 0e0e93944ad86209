"""The engines there are, imported when they are used.  A new one is a folder and a line."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.engines.base import Engine
    from pi_subagents.engines.conversation import Channel, Conversation

ENGINES = {
    "pi": "pi_subagents.engines.pi",
}
DEFAULT = "pi"


def load_engine(name: str) -> Engine:
    """Return the caller's side of an engine, its module `engine`; KeyError if there is none."""
    engine: Engine = import_module(f"{ENGINES[name]}.engine").ENGINE
    return engine


def engine_of_record(name: str) -> Engine:
    """Return the engine of an old run: early records name none, a damaged one names anything."""
    return load_engine(name if name in ENGINES else DEFAULT)


def open_conversation(name: str, mode: str, run_id: str, channel: Channel) -> Conversation:
    """Begin the supervisor's side of an engine: its module `conversation`."""
    made: Conversation = import_module(f"{ENGINES[name]}.conversation").open_conversation(
        mode, run_id, channel
    )
    return made
