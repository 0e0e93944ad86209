"""Sessions by their id: what is on disk counts, however much of it there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import FleetPlace

from pi_subagents.core.session.recent import MAX_RUNS
from pi_subagents.service.sessions import find_session, session_list

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


def test_by_its_id_a_session_is_told_with_every_run_also_those_beyond_the_view(
    place: FleetPlace,
) -> None:
    names = [f"run {number}" for number in range(MAX_RUNS + 2)]
    for name in names:
        place.finished(name, "a-session")
    assert [run.name for run in find_session(place.runs, "a-session")] == names
    (listed,) = session_list(place.runs).sessions
    assert [run.name for run in listed.runs] == names[2:]
