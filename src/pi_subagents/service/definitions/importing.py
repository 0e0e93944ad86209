"""
Import agent definitions of other programs as profiles or presets.

In: a place, and files that were found or named.  Out: for each agent what its fields become, and on
demand a file of ours.  pi is asked for its models only if an agent names one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.config.foreign_files import (
    AgentFile,
    find_agent_files,
    named_agent_files,
    read_agent_file,
)
from pi_subagents.core.definitions.found import PRESET
from pi_subagents.core.foreign.convert import Converted, KnownNames, to_preset, to_profile
from pi_subagents.core.foreign.table import FORMATS
from pi_subagents.core.value import value
from pi_subagents.errors import AgentFileUnreadable, SubagentsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pi_subagents.core.foreign.agent import ForeignAgent
    from pi_subagents.service.looking import LookingPlace


@value
class ImportedAgent:
    """What would become of one agent of a file, or why the file cannot be imported."""

    path: str
    program: str
    scope: str
    converted: Converted | None = None
    problem: str = ""


def import_agents(
    place: LookingPlace, paths: Sequence[Path], format_name: str, kind: str
) -> tuple[ImportedAgent, ...]:
    """Return what the files named, or else those that are found, would become."""
    files = (
        named_agent_files(paths, format_name) if paths else find_agent_files(place.cwd, place.env)
    )
    read = [(file, *_read(file)) for file in files if format_name in ("", file.format_name)]
    known = _known(place, (agent for _, agents, _ in read for agent in agents))
    found: list[ImportedAgent] = []
    for file, agents, problem in read:
        program = FORMATS[file.format_name].title
        for agent in agents:
            made = to_preset(agent, known, program) if kind == PRESET else to_profile(agent, known)
            found.append(ImportedAgent(str(file.path), program, file.scope, made))
        if problem:
            found.append(ImportedAgent(str(file.path), program, file.scope, problem=problem))
    return tuple(found)


def _read(file: AgentFile) -> tuple[tuple[ForeignAgent, ...], str]:
    try:
        return FORMATS[file.format_name].parse(file.path.stem, read_agent_file(file)), ""
    except AgentFileUnreadable as error:
        return (), error.problem


def _known(place: LookingPlace, agents: Iterable[ForeignAgent]) -> KnownNames:
    """Return what exists; where pi cannot be asked, no model is carried over."""
    models: tuple[str, ...] = ()
    if any(agent.model not in ("", "inherit") for agent in agents):
        with suppress(SubagentsError):
            models = tuple(model.reference for model in place.models().models)
    return KnownNames(models, place.tools(), place.skills())
