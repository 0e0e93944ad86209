"""How long it takes to know which models a child has: by asking pi, and from the cache."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, interleaved, timed_ms

from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.models.available import list_models
from pi_subagents.engines.pi.models.config import ChildSetup

if TYPE_CHECKING:
    from pathlib import Path

SECTION = "Models of a child"
ASKED = "list_models(refresh=True): pi is asked"
CACHED = "list_models(): nothing has changed"
COUNT = 500


def measure(place: Place) -> list[Figure]:
    """Return how long each takes, with a few hundred models configured."""
    agent = place.path / "models-agent"
    _configure(agent)
    env = {**place.env, "PI_CODING_AGENT_DIR": str(agent)}
    pi = resolve_pi_command(env, place.project, None)
    look = partial(list_models, ChildSetup(pi.argv, place.project, env, trusted=True), place.path)
    sides = {
        ASKED: lambda: timed_ms(lambda: look(refresh=True)),
        CACHED: lambda: timed_ms(look),
    }
    times = interleaved(place.rounds(7), sides, SECTION)
    targets = {CACHED: Target(50)}  # a background run has to be started within 300 ms
    return [Figure(SECTION, name, "ms", times[name], targets.get(name)) for name in sides]


def _configure(agent: Path) -> None:
    """Give pi a provider, and as many extension files as a busy user has."""
    provider = {
        "baseUrl": "http://127.0.0.1:9/v1",
        "api": "openai-completions",
        "apiKey": "x",
        "models": [{"id": f"model-{number}"} for number in range(COUNT)],
    }
    (agent / "extensions").mkdir(parents=True)
    (agent / "models.json").write_text(json.dumps({"providers": {"local": provider}}), "utf-8")
    for number in range(20):
        (agent / "extensions" / f"{number}.js").write_text("export default () => {};\n", "utf-8")
