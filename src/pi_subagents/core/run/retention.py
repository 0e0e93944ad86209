"""
Decide which finished runs have been kept long enough.

In: what each run takes and when it ended.  Out: those to remove, oldest first, with the reason.
A run that is not over is never among them.

A clock that is wrong would make everything old at once.  So what goes by itself for its age goes by
a time of day that is proven: seen at one look, and not undone at another that came at least a day
later by the clock that nobody can set, the time since the machine was started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

DAY_MS = 86_400_000
# Two looks "a day apart": clocks are slewed, and whoever looks every day looks a little early.
APART_S = 82_800.0


# A run's id, when it ended (None: it is not over), and what its directory takes in bytes.
Kept = tuple[str, int | None, int]


@value
class Removal:
    """A run to remove: when it ended, how much room that makes, and why it goes."""

    run_id: str
    ended_ms: int
    size: int
    reason: Literal["age", "space"]


@value
class Look:
    """When somebody looked: the time of day, and how long the machine is up since which start."""

    now_ms: int
    boot: str | None  # None where nothing but the time of day is known
    up_s: float


@value
class Watch:
    """What is known since a look: the least time of day since then, and how much time is proven."""

    now_ms: int
    proven_s: float
    last: Look


def watched(before: Watch | None, look: Look) -> tuple[Watch, int | None]:
    """
    Return what is known after another look, and the time of day that is proven by it, if any.

    That is the least one seen between two looks a day apart: a jump ahead that is corrected in
    between never counts, one that stays counts a day later.
    """
    if before is None:
        return Watch(look.now_ms, 0.0, look), None
    proven_s = before.proven_s + _passed_s(before.last, look)
    now_ms = min(before.now_ms, look.now_ms)
    if proven_s < APART_S:
        return Watch(now_ms, proven_s, look), None
    return Watch(look.now_ms, 0.0, look), now_ms


def _passed_s(earlier: Look, later: Look) -> float:
    """Return how much time has passed at least."""
    if later.boot is None or earlier.boot is None:
        return max(0.0, (later.now_ms - earlier.now_ms) / 1000)
    if later.boot == earlier.boot:
        return max(0.0, later.up_s - earlier.up_s)
    return max(0.0, later.up_s)  # it was started since


def choose_removals(
    runs: Iterable[Kept], *, now_ms: int, max_age_days: float, max_bytes: float
) -> list[Removal]:
    """Return what exceeds the limits; a limit of 0 does not limit."""
    runs = list(runs)
    finished = sorted((ended, run_id, size) for run_id, ended, size in runs if ended is not None)
    oldest_allowed = now_ms - max_age_days * DAY_MS
    removals: list[Removal] = []
    excess = sum(size for _, _, size in runs) - max_bytes
    for ended_ms, run_id, size in finished:
        if max_age_days and ended_ms < oldest_allowed:
            removals.append(Removal(run_id, ended_ms, size, "age"))
        elif max_bytes and excess > 0:
            removals.append(Removal(run_id, ended_ms, size, "space"))
        else:
            continue
        excess -= size
    return removals
