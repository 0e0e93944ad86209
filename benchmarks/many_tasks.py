"""
A thousand short tasks through the Python API: does the last hundred cost what the first did?

The children answer at once, so that all the time is ours; the host looks at itself after each call
of ten tasks (tests/fakes/many_tasks.py) and keeps its children from call to call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import MB, Figure, Place, Target, progress

from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

FAKES = Path(__file__).parents[1] / "tests" / "fakes"
HOST, CHILD = FAKES / "many_tasks.py", f"{sys.executable} -I -S {FAKES / 'quick_child.py'}"
TASKS = (1000, 300, 20)
SOME = (100, 100, 10)
EARLY = (200, 200, 10)
GROWTH_MB = 4
CPU_MS = 5


def measure(place: Place) -> list[Figure]:
    """Return time, CPU and memory of a host, early and late."""
    count, some, after = (place.amount(*each) for each in (TASKS, SOME, EARLY))
    section = f"{count:,} short tasks"
    progress(section)
    looks = _looks(_own_place(place), count)
    calls = looks[:-1]  # the last one is no call's
    per_call = calls[1]["tasks"]
    first, last = calls[: some // per_call + 1], calls[-some // per_call - 1 :]
    early, late = (look["memory"] / MB for look in (calls[after // per_call], looks[-1]))
    return [
        Figure(section, f"wall per task, first {some}", "ms", _per_task(first, "wall_s")),
        Figure(section, f"wall per task, last {some}", "ms", _per_task(last, "wall_s")),
        Figure(section, f"CPU of the host per task, first {some}", "ms", _per_task(first, "cpu_s")),
        Figure(
            section,
            f"CPU of the host per task, last {some}",
            "ms",
            _per_task(last, "cpu_s"),
            Target(CPU_MS),
        ),
        Figure(section, f"memory of the host after {after}", "MB", (early,)),
        Figure(section, "memory of the host at the end", "MB", (late,)),
        Figure(section, "growth of the host", "MB", (late - early,), Target(GROWTH_MB)),
    ]


def _looks(place: Place, count: int) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(HOST), str(count), "pool"],
        cwd=place.project,
        env={**place.env, "PI_SUBAGENTS_PI": f"{FAKES / 'node'} {CHILD}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    looks: list[dict[str, Any]] = json.loads(done.stdout)
    return looks


def _per_task(looks: Sequence[dict[str, Any]], what: str) -> tuple[float, ...]:
    """Return what each call took, per task of it."""
    return tuple((b[what] - a[what]) * 1000 / (b["tasks"] - a["tasks"]) for a, b in pairwise(looks))


def _own_place(place: Place) -> Place:
    """Return a place without earlier runs."""
    path = place.path / "many-tasks"
    (path / "project" / ".pi").mkdir(parents=True)
    (path / "home").mkdir()
    env = {**place.env, "HOME": str(path / "home")}
    return replace(place, path=path, project=path / "project", env=env)
