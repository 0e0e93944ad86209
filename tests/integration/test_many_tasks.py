"""Many short tasks through the Python API: nothing grows, nothing is left (1,000: `make soak`)."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.auditor import audit
from tests.fakes.child_modes import DEFAULT, JSON, SETTINGS
from tests.fakes.many_tasks import ALONE, PER_CALL, POOL, Look, delegated, looks_of

from pi_subagents.store.run_store import open_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the host looks into /proc")

GROWTH = 2 * 1024 * 1024


@pytest.mark.parametrize(
    ("host", "count", "child_mode"), [(POOL, 60, DEFAULT), (ALONE, 40, DEFAULT), (ALONE, 20, JSON)]
)
def test_many_tasks_leave_nothing_and_cost_no_memory(
    tmp_path: Path, host: str, count: int, child_mode: str
) -> None:
    assert grown(looks_after(count, host, tmp_path, child_mode), since=PER_CALL) < GROWTH


def looks_after(count: int, host: str, root: Path, child_mode: str) -> list[Look]:
    """Return a host's looks at itself, once everything else was found in order."""
    project, home = root / "project", root / "home"
    (project / ".pi").mkdir(parents=True)
    (home / ".pi" / "agent").mkdir(parents=True)
    settings = json.dumps({"subagents": SETTINGS[child_mode]})
    (home / ".pi" / "agent" / "settings.json").write_text(settings)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PI_", "XDG_"))}
    env = {**kept, "HOME": str(home)}
    done = delegated(count, host, project, env)
    assert (done.returncode, done.stderr) == (0, "")
    looks = looks_of(done.stdout)
    before, after = looks[0], looks[-1]
    assert (after.descriptors, after.processes) == (before.descriptors, 0)
    store = open_store(project, env)
    assert len(list(store.runs())) == count
    assert store.planned() == []
    assert audit(store) == []
    return looks


def grown(looks: list[Look], since: int) -> int:
    """Return by how many bytes the host has grown after so many tasks."""
    (early,) = (look for look in looks if look.tasks == since)
    return looks[-1].memory - early.memory
