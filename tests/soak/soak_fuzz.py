"""A million mutated lines, 10,000 simulated delegations, records cut at every byte."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from tests.fakes.samples import first_as_sample
from tests.faults.fuzzing import fuzz_streams, fuzz_terminal
from tests.faults.records import flips, make_run, make_site, truncations
from tests.faults.simulation import simulate
from tests.faults.test_corrupt_records import RECORDS, SHOWN, check_damage, shown
from tests.faults.test_identity import reuse

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", range(100, 120))
def test_recorded_streams_may_be_damaged_in_any_way(seed: int) -> None:
    assert fuzz_streams(seed, 50_000) == 50_000


@pytest.mark.parametrize("seed", first_as_sample(range(4)))
def test_nothing_that_drives_a_terminal_survives(seed: int) -> None:
    fuzz_terminal(seed, 100_000)


@pytest.mark.parametrize("first", first_as_sample(range(0, 10_000, 500)))
def test_every_task_reaches_one_end_whatever_the_clock_does(first: int) -> None:
    for seed in range(first, first + 500):
        simulate(seed)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_may_be_cut_at_every_byte(tmp_path: Path, record: str) -> None:
    site = make_site(tmp_path)
    make_run(site.runs(), "healthy")
    beside = shown(site.runs())
    bad = make_run(site.runs(), "bad")
    path, chance = bad.path / record, random.Random(record)
    whole = path.read_bytes()
    for what, data in truncations(path, chance, len(whole)):
        path.write_bytes(data)
        assert check_damage(site, bad, beside) == (record in SHOWN), what
    path.write_bytes(whole)
    for _, data in flips(path, chance, 2000):
        path.write_bytes(data)
        check_damage(site, bad, beside)


def test_a_number_that_was_given_out_again_fools_nobody() -> None:
    counts = reuse(500)
    assert counts["rounds"] >= 300
    assert (counts["fooled"], counts["harmed"]) == (0, 0)
