"""How long short commands and imports take, against a Python that does nothing."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, cost_of, interleaved

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTION = "Start-up"
COMMAND = (sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()")
BASE = "python -c pass"
SIDES = {
    BASE: (sys.executable, "-c", "pass"),
    "import pi_subagents": (sys.executable, "-c", "import pi_subagents"),
    "import pi_subagents.api": (sys.executable, "-c", "import pi_subagents.api"),
    "subagents --version": (*COMMAND, "--version"),
    "subagents --help": (*COMMAND, "--help"),
}
TARGETS = {"import pi_subagents": Target(60), "subagents --help": Target(150)}


def measure(place: Place) -> list[Figure]:
    """Return the wall time of each command, from its start to its end."""

    def wall(argv: Sequence[str]) -> float:
        return cost_of(argv, place).wall_ms

    sides = {name: partial(wall, argv) for name, argv in SIDES.items()}
    times = interleaved(place.rounds(15), sides, SECTION)
    return [Figure(SECTION, name, "ms", times[name], TARGETS.get(name)) for name in SIDES]
