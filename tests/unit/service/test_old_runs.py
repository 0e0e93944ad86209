"""Run directories that earlier versions left stay readable: one of each is kept, as it was made."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.core.run.record import Liveness
from pi_subagents.core.session.history import output_text, session_text
from pi_subagents.store.run_index import RunIndex
from pi_subagents.store.run_records import load_record, with_messages

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.store.run_dir import RunDir

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


def loaded(run: RunDir) -> RunRecord:
    return with_messages(load_record(run, Liveness.FINISHED))


def test_every_kept_run_has_a_test() -> None:
    assert [path.name for path in KEPT.iterdir()] == [FIRST]


def test_the_first_runs_are_told_whole(first: RunDir) -> None:
    run = loaded(first)
    assert (run.status, run.duration_ms, run.usage.total_tokens) == ("completed", 614, 2303)
    assert (run.name, run.model, run.kind, run.meta.task) == (
        "look",
        "offline",
        "",
        "What is here?",
    )
    assert (output_text(run), session_text([run])) == ("There is one file.", TRANSCRIPT)


def test_the_first_runs_can_be_adopted_and_are_no_background_runs(
    first: RunDir, tmp_path: Path
) -> None:
    index = RunIndex(tmp_path / "data")
    assert index.adopt([first]) == [first]
    assert ([run.run_id for run in index.all()], index.detached()) == ([FIRST], [])
