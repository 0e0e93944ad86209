"""What the extension adds to the start of pi: loading, registering, starting the core beside it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from measuring import Figure, Place, Target, progress

from pi_subagents.engines.offline.provider import URL_VARIABLE
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.engines.pi.invocation import QUIET
from pi_subagents.engines.pi.offline import pi_arguments
from pi_subagents.hosts.pi.extension import extension_dir, remember_interpreter

SECTION = "Inside pi"
STOPWATCH = Path(__file__).parents[1] / "tests" / "fakes" / "stopwatch_extension.ts"


def measure(place: Place) -> list[Figure]:
    """Return what pi waits for at its start; the first round fills its cache of compiled files."""
    rounds = place.rounds(9)
    remember_interpreter(place.env)
    costs = []
    with OfflineModel(None, keep_requests=0) as model:
        for number in range(-1, rounds):
            progress(
                f"{SECTION}: {f'round {number + 1} of {rounds}' if number >= 0 else 'warming up'}"
            )
            cost = _start(place, model.url_for("main"))
            if number >= 0:
                costs.append(cost)
    return [Figure(SECTION, "extension, load and start", "ms", tuple(costs), Target(60))]


def _start(place: Place, url: str) -> float:
    pi = resolve_pi_command(place.env, place.project, None).argv
    done = subprocess.run(
        [*pi, *pi_arguments(), "-e", str(STOPWATCH), "--no-session", "-p", "hello"],
        cwd=place.project,
        env={**place.env, **QUIET, URL_VARIABLE: url, "PI_SUBAGENTS_SHIM": str(extension_dir())},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    heard: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return heard["loadMs"] + heard["startMs"]
