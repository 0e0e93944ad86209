"""10,000 calls whose children spend from one budget, each in an order of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.samples import first_as_sample
from tests.faults.spending import spend

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("first", first_as_sample(range(0, 10_000, 500)))
def test_no_sum_passes_its_budget_by_more_than_a_message_of_each_child(
    tmp_path: Path, first: int
) -> None:
    for seed in range(first, first + 500):
        spend(seed)
        spend(seed, tmp_path / f"{seed}")
