"""
The limits of a run together, on a clock that stands still while the run waits for something.

Clock-free: told the time (monotonic seconds), it tells the limits the run's own, which is that less
the time it was held.  A run may be held for several reasons at once; it goes on when none is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.limits.base import Limit, Verdict

RETRY = "retry"  # the child waits before it asks its model again


class HeldLimits:
    """What may end a run, asked in order."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = limits
        self._reasons: dict[str, float | None] = {}  # and when each ends by itself, if it does
        self._since = 0.0
        self._held_s = 0.0  # so far, without the time that it is being held now

    def hold(self, reason: str, now: float, until: float | None = None) -> None:
        """Let no time pass from now on, or until then."""
        self._release_due(now)
        if not self._reasons:
            self._since = now
        self._reasons[reason] = until

    def release(self, reason: str, now: float) -> None:
        """Let time pass again, unless there is another reason."""
        if reason in self._reasons:
            del self._reasons[reason]
            if not self._reasons:
                self._held_s += now - self._since

    def saw(self, event: ev.Event | None, now: float) -> None:
        """Note what the child did; while it waits to ask its model again, no time passes."""
        self._release_due(now)
        if isinstance(event, ev.Retrying):
            self.hold(RETRY, now, now + event.delay_ms / 1000)
        elif event is not None and not isinstance(event, ev.Limited):
            self.release(RETRY, now)
        for limit in self._limits:
            limit.saw(event, self._own_time(now))

    def deadline(self) -> float | None:
        """Return when they want to be asked; never while time stands still."""
        if self._reasons:
            ends = [end for end in self._reasons.values() if end is not None]
            return min(ends, default=None)
        due = [each for limit in self._limits if (each := limit.deadline()) is not None]
        return min(due) + self._held_s if due else None

    def verdicts(self, now: float) -> Iterator[Verdict]:
        """Yield what is to be done now."""
        self._release_due(now)
        for limit in self._limits:
            if (verdict := limit.verdict(self._own_time(now))) is not None:
                yield verdict

    def _release_due(self, now: float) -> None:
        for reason, end in sorted(self._reasons.items(), key=lambda each: each[1] or 0):
            if end is not None and end <= now:
                self.release(reason, end)

    def _own_time(self, now: float) -> float:
        return (self._since if self._reasons else now) - self._held_s
