"""
The engines there are, imported when they are used.  A new one is a folder and a line.

A family is one folder for many programs: `acp:opencode` is the agent opencode of the family acp.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.engines.base import Engine
    from pi_subagents.engines.conversation import Channel, Conversation

ENGINES = {
    "pi": "pi_subagents.engines.pi",
}
FAMILIES = {
    "acp": "pi_subagents.engines.acp",
}
DEFAULT = "pi"


def is_engine(name: str) -> bool:
    """Return whether a name is that of an engine, or of a family with an agent."""
    family, _, agent = name.partition(":")
    return name in ENGINES or (family in FAMILIES and bool(agent))


def engine_names(agents: Iterable[str] = ()) -> tuple[str, ...]:
    """Return every engine that a task can name, with these agents of the user's own."""
    named = []
    for family, folder in FAMILIES.items():
        known = import_module(f"{folder}.catalogue").NAMES
        named += [f"{family}:{agent}" for agent in dict.fromkeys((*known, *agents))]
    return (*ENGINES, *named)


def load_engine(name: str) -> Engine:
    """Return the caller's side of an engine, its module `engine`; KeyError if there is none."""
    module = import_module(f"{_folder(name)}.engine")
    engine: Engine = module.ENGINE if name in ENGINES else module.engine_of(name.partition(":")[2])
    return engine


def engine_of_record(name: str) -> Engine:
    """Return the engine of an old run: early records name none, a damaged one names anything."""
    return load_engine(name if is_engine(name) else DEFAULT)


def load_conversations(name: str) -> None:
    """Import all that the conversations of an engine need: who calls this is going to open many."""
    import_module(f"{ENGINES[name]}.conversation").load()


def open_conversation(name: str, mode: str, run_id: str, channel: Channel) -> Conversation:
    """Begin the supervisor's side of an engine: its module `conversation`."""
    made: Conversation = import_module(f"{_folder(name)}.conversation").open_conversation(
        mode, run_id, channel
    )
    return made


def _folder(name: str) -> str:
    """Return where an engine is; KeyError if there is none."""
    if name in ENGINES:
        return ENGINES[name]
    if not is_engine(name):
        raise KeyError(name)
    return FAMILIES[name.partition(":")[0]]
