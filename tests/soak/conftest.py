"""The long versions of the fault suite, by `make soak`; plain pytest does not collect them."""

from __future__ import annotations

from tests.faults.conftest import place

__all__ = ["place"]
