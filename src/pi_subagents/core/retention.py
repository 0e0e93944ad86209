"""
Decide which finished runs have been kept long enough.

In: what each run takes and when it ended.  Out: those to remove, oldest first, with the reason.
A run that is not over is never among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY_MS = 86_400_000


@value
class KeptRun:
    """One run directory as retention sees it; `ended_ms` None means it is not over."""

    run_id: str
    ended_ms: int | None
    size: int


@value
class Removal:
    """A run to remove, and why."""

    run: KeptRun
    reason: Literal["age", "space"]


def choose_removals(
    runs: Iterable[KeptRun], *, now_ms: int, max_age_days: float, max_bytes: float
) -> list[Removal]:
    """Return what exceeds the limits; a limit of 0 does not limit."""
    runs = list(runs)
    finished = [run for run in runs if run.ended_ms is not None]
    finished.sort(key=lambda run: (run.ended_ms or 0, run.run_id))
    oldest_allowed = now_ms - max_age_days * DAY_MS
    removals: list[Removal] = []
    excess = sum(run.size for run in runs) - max_bytes
    for run in finished:
        if max_age_days and (run.ended_ms or 0) < oldest_allowed:
            removals.append(Removal(run, "age"))
        elif max_bytes and excess > 0:
            removals.append(Removal(run, "space"))
        else:
            continue
        excess -= run.size
    return removals
