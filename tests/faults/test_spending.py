"""The sum of a call's children never passes its budget by more than a message of each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.faults.spending import spend

from pi_subagents.core.spending.budget import Budget, Spending
from pi_subagents.store.purses import SharedPurse, close_purses, make_purse

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = Budget(1000)


@pytest.mark.parametrize("first", [0, 100])
def test_a_call_keeps_to_its_budget_in_whatever_order_its_children_spend(first: int) -> None:
    for seed in range(first, first + 100):
        spend(seed)


def test_so_it_does_where_each_child_has_a_supervisor_of_its_own(tmp_path: Path) -> None:
    for seed in range(40):
        spend(seed, tmp_path / f"{seed}")


def test_what_other_processes_spend_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "purse"
    make_purse(path, Spending(5, 0.5, 1))
    mine = SharedPurse("of the call", BUDGET, str(path))
    for _ in range(8):
        if (child := os.fork()) == 0:
            other = SharedPurse("of the call", BUDGET, str(path))
            for _ in range(50):
                other.add(Spending(1, 0.25, 1))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert mine.add(Spending(1)) == Spending(406, 100.5, 401)
    mine.close()


def test_what_opens_a_sum_late_reads_as_little_of_it_as_what_opens_it_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "purse"
    make_purse(path, Spending(5, 0.5, 1))
    spenders = [SharedPurse("of today", BUDGET, str(path)) for _ in range(16)]
    read: list[int] = []

    def counting(file: int, size: int, start: int) -> bytes:
        data = pread(file, size, start)
        read.append(len(data))
        return data

    pread, sums, most = os.pread, [], []
    for messages in range(1, 4001):
        spenders[messages % 16].add(Spending(2, 0.25, 1))
        if messages % 500 == 0:
            monkeypatch.setattr(os, "pread", counting)
            late = SharedPurse("of today", BUDGET, str(path))
            sums.append((messages, late.add(Spending())))
            late.close()
            monkeypatch.setattr(os, "pread", pread)
            most.append(sum(read))
            read.clear()
    assert sums == [
        (count, Spending(5 + 2 * count, 0.5 + count / 4, 1 + count)) for count, _ in sums
    ]
    assert max(most) <= 64 * 1024, most
    everybody = {purse.add(Spending()) for purse in spenders}
    assert everybody == {Spending(8005, 1000.5, 4001)}
    close_purses(spenders)


def test_a_sum_outlives_the_desk_of_the_run_that_it_was_made_for(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    make_purse(one, Spending(7))
    two.hardlink_to(one)
    one.unlink()
    purse = SharedPurse("of the call", BUDGET, str(two))
    assert purse.add(Spending(1)) == Spending(8)
    purse.close()


def test_what_finds_no_room_counts_for_the_run_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "purse"
    make_purse(path, Spending(7))
    purse = SharedPurse("of the call", BUDGET, str(path))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert [purse.add(Spending(2)), purse.add(Spending())] == [Spending(9), Spending(9)]
    purse.close()
