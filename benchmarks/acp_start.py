"""Other people's agents over ACP, without us: when one can be asked, and its memory then."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Figure, Place, progress
from tree_memory import resident_mb

from pi_subagents.system.process_tree import descendants

sys.path.append(str(Path(__file__).parents[1]))

from scripts import npm_packages
from tests.agents.acp_agents import ACP_AGENTS, AcpAgent
from tests.agents.acp_client import AcpClient
from tests.agents.scripted_models import ScriptedModels, scripted_models

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTION = "Agents by ACP"
ROUNDS = 5
PROMPT = "Say hello."
SCRIPT = {"conversations": [{"match": PROMPT, "turns": [{"text": "Hello.", "repeat": True}]}]}
STEPS = ("answers `initialize`", "has a session", "has answered a prompt")


@dataclass
class Starts:
    """What the starts of one agent took, round by round: each step since the start, and memory."""

    steps: dict[str, list[float]] = field(default_factory=lambda: {step: [] for step in STEPS})
    memory_mb: list[float] = field(default_factory=list)


def measure(place: Place) -> list[Figure]:
    """Return starts of all agents in turn; each is installed below .cache once, or left out."""
    agents = _those_here()
    found = {agent.name: Starts() for agent in agents}
    homes = {agent.name: place.path / f"home-{agent.name}" for agent in agents}
    rounds = place.rounds(ROUNDS)
    with scripted_models(SCRIPT) as models:
        for number in range(-1, rounds):  # the first fills the home: caches, histories
            progress(f"{SECTION}: {f'round {number + 1} of {rounds}' if number >= 0 else 'first'}")
            for agent in agents:
                _started(agent, homes[agent.name], place, models, found[agent.name])
    for home in homes.values():
        shutil.rmtree(home, ignore_errors=True)
    return [figure for name, starts in found.items() for figure in _figures(name, starts)]


def _those_here() -> list[AcpAgent]:
    agents = []
    for agent in ACP_AGENTS.values():
        try:
            npm_packages.program(agent.package)
        except npm_packages.NotInstalledError as error:
            progress(f"{SECTION}: without {agent.name}: {error}")
        else:
            agents.append(agent)
    return agents


def _started(
    agent: AcpAgent, home: Path, place: Place, models: ScriptedModels, found: Starts
) -> None:
    env: Mapping[str, str] = {**agent.environment(home, models)}
    begun = time.perf_counter()
    with AcpClient(agent.argv, place.project, env) as client:
        client.initialize()
        taken = [time.perf_counter() - begun]
        session = client.new_session()
        taken.append(time.perf_counter() - begun)
        client.prompt(session, PROMPT)
        taken.append(time.perf_counter() - begun)
        tree = (client.process.pid, *descendants(client.process.pid))
        found.memory_mb.append(sum(map(resident_mb, tree)))
    for step, seconds in zip(STEPS, taken, strict=True):
        found.steps[step].append(seconds * 1000)


def _figures(name: str, starts: Starts) -> list[Figure]:
    times = [
        Figure(SECTION, f"{name}: {step}", "ms", tuple(values[1:]))
        for step, values in starts.steps.items()
    ]
    first = Figure(SECTION, f"{name}: the same in a new home", "ms", (starts.steps[STEPS[-1]][0],))
    memory = Figure(SECTION, f"{name}: memory then", "MB", tuple(starts.memory_mb[1:]))
    return [*times, first, memory]
