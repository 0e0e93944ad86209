"""kill -9 at random instants: the seed is the name of the case (200 of them in `make soak`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long
from tests.fakes.samples import first_as_sample
from tests.faults.random_kills import kill_at_random

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = takes_long


@pytest.mark.parametrize("seed", first_as_sample(range(8)))
async def test_whoever_is_killed_at_whatever_instant_the_truth_is_told(
    place: Workplace, seed: int
) -> None:
    await kill_at_random(place, seed)
