from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

import pytest
from tests.fakes.run_places import run_at, store_at

from pi_subagents.core.run.result import RunResult
from pi_subagents.store.rescue import ensure_dir, move_rest, rescue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

ID = "a" * 32
TEXTS = {"system-prompt.md": b"You review.", "task.md": b"asked"}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDir]:
    made = run_at(tmp_path / "runs" / ID)
    made.path.parent.mkdir()
    lock = made.begin({"runId": ID, "name": "build"}, b"the prompt", TEXTS)
    yield made
    os.close(lock)


def test_a_run_stands_where_it_was_made_for_as_long_as_that_is_there(run: RunDir) -> None:
    assert ensure_dir(run) == run == run.now()
    assert run.desk.place() is None


def test_a_run_without_a_directory_gets_another_with_what_it_was_asked(run: RunDir) -> None:
    shutil.rmtree(run.path)
    there = ensure_dir(run)
    assert there.path == store_at(run.path.parent).rescued_dir / ID
    assert (there.run_id, there.desk) == (run.run_id, run.desk)
    assert {path.name: path.read_bytes() for path in there.path.glob("*.md")} == {
        "prompt.md": b"the prompt",
        **TEXTS,
    }
    run.desk.meta.unlink()
    assert there.read_meta() == {"runId": ID, "name": "build"}
    assert there.reserved.stat().st_blocks * 512 >= 64 * 1024
    modes = {stat.S_IMODE(path.stat().st_mode) for path in there.path.iterdir()}
    directories = (there.path, there.path.parent, there.path.parent.parent)
    assert (modes, {stat.S_IMODE(d.stat().st_mode) for d in directories}) == ({0o600}, {0o700})
    assert run.now() == there == ensure_dir(run), "from then on it is there"


def test_a_run_is_found_where_it_was_rescued_to_without_its_desk(run: RunDir) -> None:
    shutil.rmtree(run.path)
    there = ensure_dir(run)
    there.write_result(RunResult(ID, "", "build", "completed"))
    run.desk.remove()
    assert run.now() == there
    store = store_at(run.path.parent)
    assert (store.run_dir(ID), store.runs()) == (there, [there])


def test_what_is_left_of_a_directory_is_brought_along_but_never_through_a_link(
    run: RunDir, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (run.path / "extra.md").write_text("extra")
    (run.path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(run.path / "fifo")
    run.prompt.write_text("changed by somebody")
    there = rescue(run)
    move_rest(run.path, there)
    assert (there.path / "extra.md").read_text() == "extra"
    assert there.prompt.read_bytes() == b"the prompt", "what we know ourselves counts"
    names = {path.name for path in there.path.iterdir()}
    assert names.isdisjoint({"link", "fifo"})
    assert list(run.path.iterdir()) == []
    assert (tmp_path / "secret").read_text() == "secret"
