from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.store.completion import announcing, is_announced

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    return run_at(tmp_path)


def names(run_dir: RunDir) -> list[str]:
    return sorted(path.name for path in run_dir.path.iterdir())


def test_whoever_comes_first_tells_and_leaves_a_mark(run_dir: RunDir) -> None:
    with announcing(run_dir) as ours:
        assert ours
        assert not is_announced(run_dir)
    assert is_announced(run_dir)
    assert names(run_dir) == ["notice.done"]
    with announcing(run_dir) as ours:
        assert not ours
    assert is_announced(run_dir)


def test_while_one_tells_it_is_nobody_elses_turn(run_dir: RunDir) -> None:
    with announcing(run_dir), announcing(run_dir) as also_ours:
        assert not also_ours
    with announcing(run_dir) as ours:
        assert not ours


def test_a_telling_that_fails_leaves_the_turn_to_the_next(run_dir: RunDir) -> None:
    with pytest.raises(ConnectionError), announcing(run_dir):
        raise ConnectionError
    assert not is_announced(run_dir)
    with announcing(run_dir) as ours:
        assert ours


def test_what_one_who_died_left_is_no_obstacle(run_dir: RunDir) -> None:
    (run_dir.path / "notice.claimed").write_bytes(b"")
    with announcing(run_dir) as ours:
        assert ours


def test_where_nothing_can_be_kept_nobody_tells(tmp_path: Path) -> None:
    with announcing(run_at(tmp_path / "gone")) as ours:
        assert not ours


def test_a_link_in_place_of_the_claim_is_not_followed(run_dir: RunDir, tmp_path: Path) -> None:
    (run_dir.path / "notice.claimed").symlink_to(tmp_path / "elsewhere")
    with announcing(run_dir) as ours:
        assert not ours
    assert not (tmp_path / "elsewhere").exists()


def test_of_many_at_once_exactly_one_tells(tmp_path: Path) -> None:
    places = [run_at(tmp_path / str(number)) for number in range(40)]
    for place in places:
        place.path.mkdir()
        (place.path / "notice.claimed").write_bytes(b"")  # of one who died
    heard: list[str] = []
    together = threading.Barrier(8)

    def watch() -> None:
        for place in places:
            together.wait()
            with announcing(place) as ours:
                if ours:
                    heard.append(place.run_id)

    watchers = [threading.Thread(target=watch) for _ in range(8)]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join()
    assert sorted(heard) == sorted(place.run_id for place in places)
