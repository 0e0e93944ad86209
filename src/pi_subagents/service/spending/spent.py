"""What was spent: the ledger, after every run that has ended was counted."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors import LedgerUnreachable
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pi_subagents.store.ledger import Ledger, Total


@value
class Spent:
    """Sums of one kind; since when the ledger is without runs that were removed, if it is."""

    totals: list[Total]
    incomplete_since: str


def spending_by(
    way: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, *, rebuild: bool
) -> Spent:
    """Return the sums by day, project, profile or model; StoreError where they are unknown."""
    runs = Runs(cwd, env)
    runs.recover()
    with reaching(runs.ledger):
        if rebuild:
            runs.ledger.rebuild()
        return Spent(runs.ledger.totals(way), runs.ledger.incomplete_since())


@contextmanager
def reaching(ledger: Ledger) -> Iterator[None]:
    """Say in plain words that a ledger cannot be used now."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise LedgerUnreachable(str(ledger.path), str(error)) from error
