"""Fixtures for the fault suite: every place is audited when a case is over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes import child_modes
from tests.fakes.workplace import Workplace, open_workplace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    child_modes.parametrise(metafunc)


@pytest.fixture
def child_mode() -> str:
    """How children are run where a test does not say."""
    return child_modes.DEFAULT


@pytest.fixture
async def place(tmp_path: Path, child_mode: str) -> AsyncIterator[Workplace]:
    """A project with fake children, audited at the end."""
    if sys.platform != "linux":
        pytest.skip("the fakes and the auditor read /proc")
    async with open_workplace(tmp_path, child_mode) as workplace:
        yield workplace
