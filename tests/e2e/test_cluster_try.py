"""`subagents cluster try`: what a newcomer types first, on the real pi, and nothing is left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.e2e.conftest import Project


def processes_of(mark: str) -> list[str]:
    """Return the command lines of processes whose environment or arguments name a directory."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            text = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in text and int(place.name) != os.getpid():
            found.append((place / "cmdline").read_text().replace("\0", " "))
    return found


@pytest.mark.pi
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_newcomer_sees_a_cluster_work_and_nothing_is_left_of_it(project: Project) -> None:
    argv = [sys.executable, "-m", "pi_subagents", "cluster", "try", "--json"]
    done = subprocess.run(
        argv, cwd=project.path, env=project.env, capture_output=True, text=True, check=False, timeout=120
    )  # fmt: skip
    assert (done.returncode, done.stdout[:1]) == (0, "{"), done.stderr
    said = json.dumps(json.loads(done.stdout))
    assert "README.md has 3 lines." in said
    assert "sort.py has 6 lines." in said
    assert "on the worker try-1" in done.stderr
    assert "on the worker try-2" in done.stderr
    assert processes_of(project.env["HOME"]) == []
