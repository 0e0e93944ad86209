from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pi_subagents.core.run.retention import Look, Watch
from pi_subagents.store.retention import DIRECTORY, RetentionLooks

HERE, THERE = Path("/some/runs"), Path("/other/runs")
WATCH = Watch(1_700_000_000_000, 12.5, Look(1_700_000_100_000, "boot", 99.5))


def test_each_store_has_its_own(tmp_path: Path) -> None:
    looks = RetentionLooks(tmp_path)
    assert looks.keep(HERE, WATCH)
    assert RetentionLooks(tmp_path).find(HERE) == WATCH
    assert looks.find(THERE) is None
    other = Watch(1, 0.0, Look(1, None, 2.0))
    assert looks.keep(THERE, other)
    assert (looks.find(HERE), looks.find(THERE)) == (WATCH, other)


def test_they_are_private(tmp_path: Path) -> None:
    RetentionLooks(tmp_path).keep(HERE, WATCH)
    (path,) = (tmp_path / DIRECTORY).iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schemaVersion": 1, "now": "x"}', "null"])
def test_what_cannot_be_read_is_no_look(tmp_path: Path, content: str) -> None:
    looks = RetentionLooks(tmp_path)
    looks.keep(HERE, WATCH)
    (path,) = (tmp_path / DIRECTORY).iterdir()
    path.write_text(content)
    assert looks.find(HERE) is None


def test_where_it_cannot_be_kept_that_is_said(tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).write_text("in the way")
    assert not RetentionLooks(tmp_path).keep(HERE, WATCH)
