"""What the extension costs pi at its start, with a warm cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.main_pi import main_pi

from pi_subagents.disk.pi_extension import extension_dir

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi

STOPWATCH = Path(__file__).parents[1] / "fakes" / "stopwatch_extension.ts"
ROUNDS = 5
LIMIT_MS = 60


def test_loading_registering_and_starting_the_core_is_quick(project: Project) -> None:
    costs = []
    with main_pi(project, {"text": "hello", "repeat": True}) as pi:
        pi.loading = ("-e", str(STOPWATCH))
        for _ in range(ROUNDS):
            told = pi.ran("-p", "hello", PI_SUBAGENTS_SHIM=str(extension_dir())).stderr
            cost = json.loads(told)
            costs.append(cost["loadMs"] + cost["startMs"])
    # The machine may be busy with other things: the best round tells what it takes.
    assert min(costs) < LIMIT_MS, costs
