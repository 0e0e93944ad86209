"""
The limits of a run together, on a clock that stands still while the run waits for somebody.

Clock-free: told the time (monotonic seconds), it tells the limits the run's own, which is that less
the time it was held.  A run may be held for several reasons at once; it goes on when none is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.limits.base import Limit, Verdict
    from pi_subagents.core.run.events import Event


class HeldLimits:
    """What may end a run, asked in order."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        self._limits = limits
        self._reasons: set[str] = set()
        self._since = 0.0
        self._held_s = 0.0  # so far, without the time that it is being held now

    def hold(self, reason: str, now: float) -> None:
        """Let no time pass from now on."""
        if not self._reasons:
            self._since = now
        self._reasons.add(reason)

    def release(self, reason: str, now: float) -> None:
        """Let time pass again, unless there is another reason."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons:
                self._held_s += now - self._since

    def saw(self, event: Event | None, now: float) -> None:
        """Note what the child did."""
        for limit in self._limits:
            limit.saw(event, self._own_time(now))

    def deadline(self) -> float | None:
        """Return when they want to be asked; never while time stands still."""
        if self._reasons:
            return None
        due = [each for limit in self._limits if (each := limit.deadline()) is not None]
        return min(due) + self._held_s if due else None

    def verdicts(self, now: float) -> Iterator[Verdict]:
        """Yield what is to be done now."""
        for limit in self._limits:
            if (verdict := limit.verdict(self._own_time(now))) is not None:
                yield verdict

    def _own_time(self, now: float) -> float:
        return (self._since if self._reasons else now) - self._held_s
