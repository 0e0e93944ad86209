"""
A budget that several runs spend from: one file to which each supervisor appends what it spent.

In: the file that the caller made, with a name on the desk of every run that shares it.  Out: the
sum, exact at the moment of every message, whatever becomes of the caller or of other supervisors:
no sum passes its budget by more than one message of each child at work.  The file goes with its
last name.

A record is appended whole or not at all: its size divides that of every block of a disk.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.limits.budget import OwnPurse
from pi_subagents.core.spending.budget import Budget, Spending
from pi_subagents.system.safe_io import write_once

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pi_subagents.core.limits.budget import Purse
    from pi_subagents.store.local_order import LocalOrder

_RECORD = struct.Struct("<qdqxxxxxxxx")
_AT_ONCE = _RECORD.size * 4096


def make_purse(path: Path, spent: Spending) -> None:
    """Make the file, with what was spent before, unless another process was quicker."""
    write_once(path, _RECORD.pack(spent.tokens, spent.cost, spent.turns))


class SharedPurse:
    """One budget, and the file of those who spend from it."""

    def __init__(self, whose: str, budget: Budget, path: str) -> None:
        self.whose, self.budget = whose, budget
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(path, flags)
        self._read_to = 0
        self._known = Spending()
        self._not_kept = Spending()  # where there was no room for it

    def add(self, spent: Spending) -> Spending:
        """Spend so much, and return what all have spent."""
        if spent != Spending():
            self._append(spent)
        while data := os.pread(self._file, _AT_ONCE, self._read_to):
            whole = len(data) - len(data) % _RECORD.size
            for record in _RECORD.iter_unpack(data[:whole]):
                self._known += Spending(*record)
            self._read_to += whole
            if not whole:
                break
        return self._known + self._not_kept

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, spent: Spending) -> None:
        record = _RECORD.pack(spent.tokens, spent.cost, spent.turns)
        with suppress(OSError):
            if os.write(self._file, record) == len(record):
                return
        self._not_kept += spent


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
