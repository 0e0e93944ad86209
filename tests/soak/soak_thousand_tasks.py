"""A thousand short tasks through the Python API, in every child mode: constant memory, and nothing left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import DEFAULT, JSON, RPC
from tests.fakes.many_tasks import ALONE, POOL
from tests.integration.test_many_tasks import grown, looks_after

if TYPE_CHECKING:
    from pathlib import Path

GROWTH = 4 * 1024 * 1024


@pytest.mark.child_modes(DEFAULT, RPC, JSON)  # by default children are kept
@pytest.mark.parametrize("host", [POOL, ALONE])
def test_the_last_eight_hundred_of_a_thousand_tasks_cost_no_memory(
    tmp_path: Path, host: str, child_mode: str
) -> None:
    assert grown(looks_after(1000, host, tmp_path, child_mode), since=200) < GROWTH
