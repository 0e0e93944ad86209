"""Fixtures for the fault suite: every place is audited when a case is over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.fakes.workplace import Workplace, open_workplace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    """A project with fake children, audited at the end."""
    if sys.platform != "linux":
        pytest.skip("the fakes and the auditor read /proc")
    async with open_workplace(tmp_path) as workplace:
        yield workplace
