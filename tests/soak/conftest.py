"""The long versions of the fault suite, by `make soak`; plain pytest does not collect them."""

from __future__ import annotations

from tests.faults.conftest import child_mode, place, pytest_generate_tests

__all__ = ["child_mode", "place", "pytest_generate_tests"]
