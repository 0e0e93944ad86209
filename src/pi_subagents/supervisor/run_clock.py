"""
The times of one run: when it began, what may end it, since when its child has nothing left to do.

In: the limits of a run, its events, what it waits for.  Out: verdicts, and when to look again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pi_subagents.core.limits.table import held_limits
from pi_subagents.core.run.question import QUESTION
from pi_subagents.supervisor.intake import now_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.limits.budget import Purse
    from pi_subagents.core.run.spec import RunLimits


class RunClock:
    """Counts from the child's start, not from ours, and not while the run is held."""

    def __init__(self, wanted: RunLimits, purses: Sequence[Purse], *, can_steer: bool) -> None:
        self._wanted, self._purses, self._can_steer = wanted, purses, can_steer
        self.over_at: float | None = None  # since when the child has nothing left to do
        self.start()

    def start(self) -> None:
        """Begin to count."""
        self.started_ms, self.started = now_ms(), time.monotonic()
        self.limits = held_limits(
            self._wanted, self.started, self._purses, can_steer=self._can_steer
        )

    @property
    def took_ms(self) -> int:
        """How long it is since the run began, in milliseconds."""
        return round((time.monotonic() - self.started) * 1000)

    def hold(self, reason: str, *, on: bool) -> None:
        """Let no time-out run for that reason, or let it run again."""
        change = self.limits.hold if on else self.limits.release
        change(reason, time.monotonic())

    def on_question(self, waits: bool) -> None:  # noqa: FBT001 - a callback
        """Let no time-out run while the child waits for somebody."""
        self.hold(QUESTION, on=waits)

    def child_is_done(self, *, done: bool, now: float) -> None:
        """Note whether the child has anything left to do."""
        self.over_at = (self.over_at or now) if done else None

    def grace_ends(self) -> float | None:
        """Return when a child that is done has to be gone."""
        return None if self.over_at is None else self.over_at + self._wanted.settled_grace_s

    def pause(self, stop_due: float | None, talk_due: float | None, *, stops: bool) -> float | None:
        """Return how long nothing has to be looked at, unless something happens."""
        deadlines = [stop_due]
        if not stops:
            grace_ends = self.grace_ends()
            deadlines += [grace_ends, talk_due, None if grace_ends else self.limits.deadline()]
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None
