"""A repository for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.git_place import GitPlace, git_place

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> GitPlace:
    return git_place(tmp_path)
