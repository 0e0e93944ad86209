"""Every single write fails, with every error, once and for good; and a thousand runs leak nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import in_both_modes
from tests.faults.failing_io import (
    AT_ONCE,
    ERRORS,
    count_calls_of_caller,
    fail_caller,
    fail_supervisors,
    is_clean,
)
from tests.faults.test_failing_io import leak_nothing

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

pytestmark = in_both_modes
# A failed flush at the very end may be unnoticed; so many in a row are not.
CLEAN_ENOUGH = 8


@pytest.mark.parametrize("error", ERRORS)
async def test_every_write_of_a_supervisor_may_fail(place: Workplace, error: str) -> None:
    last, clean = 0, 0
    while clean < CLEAN_ENOUGH:
        numbers = range(last + 1, last + 1 + AT_ONCE)
        results = await fail_supervisors(place, numbers, error, once=False)
        await fail_supervisors(place, numbers, error, once=True)
        for number in numbers:
            clean = clean + 1 if is_clean(results[number]) else 0
        last += AT_ONCE
    assert last > 40, "there are more writes than that"


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
async def test_every_write_of_a_caller_may_fail(place: Workplace, error: str, once: bool) -> None:
    most = await count_calls_of_caller(place)
    for number in range(1, most + 1):
        await fail_caller(place, number, error, once=once)
    assert await fail_caller(place, most + 1, error, once=once)


async def test_no_descriptor_is_left_open_by_a_thousand_runs(place: Workplace) -> None:
    await leak_nothing(place, rounds=64)
