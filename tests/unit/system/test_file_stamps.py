from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pi_subagents.system.file_stamps import FileStamps

if TYPE_CHECKING:
    from pathlib import Path

LONG_AGO_NS = 10**18


def aged(path: Path, number: int = 0) -> Path:
    """Have it look as if it was changed long ago."""
    os.utime(path, ns=(LONG_AGO_NS + number, LONG_AGO_NS + number))
    return path


def written(path: Path, text: str, number: int = 0) -> Path:
    path.write_text(text)
    return aged(path, number)


def test_what_is_as_it_was_is_not_told(tmp_path: Path) -> None:
    paths = [written(tmp_path / "a", "x"), aged(tmp_path), tmp_path / "none"]
    stamps = FileStamps()
    assert stamps.changed(paths) == {*paths}, "nothing is known of them yet"
    assert stamps.changed(paths) == set()
    (tmp_path / "a").read_text()
    assert stamps.changed(paths) == set()


def test_a_file_that_grows_or_is_written_anew_or_replaced_is_told(tmp_path: Path) -> None:
    stamps = FileStamps()
    path = written(tmp_path / "a", "x")
    stamps.changed([path])
    written(path, "xy")
    assert stamps.changed([path]) == {path}
    written(path, "yx", 1)
    assert stamps.changed([path]) == {path}
    written(tmp_path / "b", "yx", 1).rename(path)
    assert stamps.changed([path]) == {path}
    path.unlink()
    assert stamps.changed([path]) == {path}
    assert stamps.changed([path]) == set()


def test_a_directory_is_told_when_a_name_comes_or_goes(tmp_path: Path) -> None:
    stamps = FileStamps()
    stamps.changed([aged(tmp_path)])
    (tmp_path / "a").mkdir()
    assert stamps.changed([tmp_path]) == {tmp_path}
    stamps.changed([aged(tmp_path)])
    (tmp_path / "a").rmdir()
    assert stamps.changed([tmp_path]) == {tmp_path}


def test_an_empty_file_is_as_good_as_none(tmp_path: Path) -> None:
    stamps = FileStamps()
    path = tmp_path / "index-wal"
    stamps.changed([path])
    path.touch()
    assert stamps.changed([path]) == set()
    path.unlink()
    assert stamps.changed([path]) == set()


def test_what_changed_just_now_is_told_again_since_more_may_follow_at_the_same_time(
    tmp_path: Path,
) -> None:
    stamps = FileStamps()
    ahead = time.time_ns() + 10**7
    path = tmp_path / "a"
    path.write_text("x")
    os.utime(path, ns=(ahead, ahead))
    assert [stamps.changed([path]) for _ in range(2)] == [{path}, {path}]
    aged(path)
    assert stamps.changed([path]) == {path}
    assert stamps.changed([path]) == set()


def test_a_path_that_was_not_asked_for_meanwhile_is_new(tmp_path: Path) -> None:
    stamps = FileStamps()
    path = written(tmp_path / "a", "x")
    stamps.changed([path])
    stamps.changed([])
    assert stamps.changed([path]) == {path}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    real = written(tmp_path / "real", "x")
    link = tmp_path / "link"
    link.symlink_to(real)
    os.utime(link, ns=(LONG_AGO_NS, LONG_AGO_NS), follow_symlinks=False)
    stamps = FileStamps()
    stamps.changed([link])
    written(real, "xyz", 1)
    assert stamps.changed([link]) == set()
