"""A healthy place for every test of the doctor's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.healthy_place import healthy_place

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.system.home import CheckedPlace


@pytest.fixture
def place(tmp_path: Path) -> CheckedPlace:
    return healthy_place(tmp_path)
