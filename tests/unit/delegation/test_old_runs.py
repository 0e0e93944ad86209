"""Run directories that earlier versions left stay readable: one of each is kept, as it was made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.core.liveness import Liveness
from pi_subagents.core.session import output_text, session_text
from pi_subagents.delegation.run_view import view_run
from pi_subagents.delegation.sessions import load_run
from pi_subagents.disk.run_index import RunIndex

if TYPE_CHECKING:
    from pi_subagents.core.session import StoredRun
    from pi_subagents.disk.run_dir import RunDir

KEPT = Path(__file__).parents[2] / "golden" / "runs"
# Before there were profiles, presets and background runs.
FIRST = "f3cd5b9241534930b95d3d0d4c93cf73"
TRANSCRIPT = """What is here?
---
Let me look.
→ bash: {"command":"ls"}
---
[tool result]: a.py
s.json

---
There is one file."""


@pytest.fixture
def first(tmp_path: Path) -> RunDir:
    return run_at(Path(shutil.copytree(KEPT / FIRST, tmp_path / FIRST)))


def loaded(run: RunDir) -> StoredRun:
    return load_run(run, Liveness.FINISHED)


def test_every_kept_run_has_a_test() -> None:
    assert [path.name for path in KEPT.iterdir()] == [FIRST]


def test_the_first_runs_are_told_whole(first: RunDir) -> None:
    view = view_run(first, Liveness.FINISHED)
    assert (view.status, view.duration_ms, view.usage.total_tokens) == ("completed", 614, 2303)
    run = loaded(first)
    assert (run.name, run.model, run.profile, run.task) == ("look", "offline", "", "")
    assert (output_text(run), session_text([run])) == ("There is one file.", TRANSCRIPT)


def test_the_first_runs_can_be_adopted_and_are_no_background_runs(
    first: RunDir, tmp_path: Path
) -> None:
    index = RunIndex(tmp_path / "data")
    assert index.adopt([first]) == [first]
    assert [(row.run_id, row.detached) for row in index.all()] == [(FIRST, False)]
