"""The fault suite runs in the places of the tests with real processes: each audited at the end."""

from __future__ import annotations

from tests.integration.conftest import child_mode, place, pytest_generate_tests

__all__ = ["child_mode", "place", "pytest_generate_tests"]
