"""
A budget that several runs spend from: one file to which each supervisor appends what it spent.

In: the file that the caller made, with a name on the desk of every run that shares it.  Out: the
sum, exact at the moment of every message, whatever becomes of the caller or of other supervisors:
no sum passes its budget by more than one message of each child at work.  The file goes with its
last name.

A record is appended whole or not at all: its size divides that of every block of a disk.  Now and
then one is the sum of all before a place in the file, which changes no more: whoever opens it reads
from the last such place, so that a run costs as little at the end of a day as at its beginning.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING

from pi_subagents.core.limits.budget import OwnPurse
from pi_subagents.core.spending.budget import Budget, Spending
from pi_subagents.system.safe_io import write_once

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pi_subagents.core.limits.budget import Purse
    from pi_subagents.store.local_order import LocalOrder

_RECORD = struct.Struct("<qdqq")  # tokens, cost, turns; 0, or up to where they are the sum of all
_AT_ONCE = _RECORD.size * 4096
_SUM_EVERY = _RECORD.size * 256
_LOOK_BACK = 4 * _SUM_EVERY  # a sum stands in there, unless there was no room for one


def make_purse(path: Path, spent: Spending) -> None:
    """Make the file, with what was spent before, unless another process was quicker."""
    write_once(path, _RECORD.pack(spent.tokens, spent.cost, spent.turns, 0))


class SharedPurse:
    """One budget, and the file of those who spend from it."""

    def __init__(self, whose: str, budget: Budget, path: str) -> None:
        self.whose, self.budget = whose, budget
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags)
        self._summed_to, self._known = self._last_sum()
        self._read_to = self._summed_to
        self._not_kept = Spending()  # where there was no room for it

    def add(self, spent: Spending) -> Spending:
        """Spend so much, and return what all have spent."""
        if spent != Spending() and not self._append(spent):
            self._not_kept += spent
        while records := self._records(self._read_to, _AT_ONCE):
            for tokens, cost, turns, summed_to in records:
                if summed_to:
                    self._summed_to = max(self._summed_to, summed_to)
                else:
                    self._known += Spending(tokens, cost, turns)
            self._read_to += len(records) * _RECORD.size
        if self._read_to - self._summed_to >= _SUM_EVERY and self._append(
            self._known, self._read_to
        ):
            self._summed_to = self._read_to
        return self._known + self._not_kept

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _last_sum(self) -> tuple[int, Spending]:
        """Return the last sum in the file, and up to where it is that of all."""
        end = os.fstat(self._file).st_size // _RECORD.size * _RECORD.size
        sums = [each for each in self._records(max(0, end - _LOOK_BACK), _LOOK_BACK) if each[3]]
        tokens, cost, turns, summed_to = max(sums, key=itemgetter(3), default=(0, 0.0, 0, 0))
        return summed_to, Spending(tokens, cost, turns)

    def _records(self, start: int, size: int) -> list[tuple[int, float, int, int]]:
        data = os.pread(self._file, size, start)
        return list(_RECORD.iter_unpack(data[: len(data) - len(data) % _RECORD.size]))

    def _append(self, spent: Spending, summed_to: int = 0) -> bool:
        with suppress(OSError, struct.error):  # no room on the disk, or in a number
            record = _RECORD.pack(spent.tokens, spent.cost, spent.turns, summed_to)
            return os.write(self._file, record) == len(record)
        return False


def close_purses(purses: Iterable[Purse]) -> None:
    """Close the files of those that are shared."""
    for purse in purses:
        if isinstance(purse, SharedPurse):
            purse.close()


def open_purses(order: LocalOrder) -> list[Purse]:
    """Return the budgets of a run; OSError where one that is shared cannot be reached."""
    shared = order.place.purses
    return [
        SharedPurse(whose, Budget(**most), shared[whose])  # type: ignore[arg-type]  # amounts by kind
        if whose in shared
        else OwnPurse(whose, Budget(**most))  # type: ignore[arg-type]  # amounts by kind
        for whose, most in order.spec.limits.budgets.items()
    ]
