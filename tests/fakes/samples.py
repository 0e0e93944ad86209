"""
The few seconds of a long make target that `make test` runs too (tests/test_long_targets.py).

A test that is not part of `make test` can stop working unnoticed; so each long target has some that
carry this mark, and they are run as the target runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def first_as_sample(values: Iterable[object]) -> list[Any]:
    """Return the values of a parametrised test, the first of them marked as the sample."""
    first, *others = values
    return [pytest.param(first, marks=pytest.mark.sample), *others]
