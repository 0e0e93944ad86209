"""Many short tasks through the Python API: nothing grows, nothing is left (1,000: `make soak`)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.auditor import audit
from tests.fakes.many_tasks import ALONE, PER_CALL, POOL, Look, delegated, looks_of

from pi_subagents.disk.run_store import open_store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the host looks into /proc")

GROWTH = 2 * 1024 * 1024


@pytest.mark.parametrize(("host", "count"), [(POOL, 60), (ALONE, 40)])
def test_many_tasks_leave_nothing_and_cost_no_memory(tmp_path: Path, host: str, count: int) -> None:
    assert grown(looks_after(count, host, tmp_path), since=PER_CALL) < GROWTH


def looks_after(count: int, host: str, root: Path) -> list[Look]:
    """Return a host's looks at itself, once everything else was found in order."""
    project, home = root / "project", root / "home"
    (project / ".pi").mkdir(parents=True)
    home.mkdir()
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
