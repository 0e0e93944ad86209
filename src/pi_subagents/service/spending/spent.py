"""What was spent: the ledger, after every run that has ended was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.service.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.store.ledger import Total


@value
class Spent:
    """Sums of one kind; since when the ledger is without runs that were removed, if it is."""

    totals: list[Total]
    incomplete_since: str


def spending_by(
    way: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, *, rebuild: bool
) -> Spent:
    """Return the sums by day, project, profile or model; LedgerDamaged where they are unknown."""
    runs = Runs(cwd, env)
    runs.recover()
    if rebuild:
        runs.ledger.rebuild()
    return Spent(runs.ledger.totals(way), runs.ledger.incomplete_since())
