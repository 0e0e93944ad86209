"""The time-out: it ends a run, or waits while the child is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.run.outcome import Cause

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event


class TimeoutLimit:
    """
    End the run at its time-out, or later while the child is at work.

    At `timeout_s` an idle timer of `debounce_s` begins; every decoded event restarts it, and
    `max_extension_s` bounds the whole extension.  A debounce of 0 means: stop at once.
    """

    def __init__(
        self, *, started: float, timeout_s: float | None, debounce_s: float, max_extension_s: float
    ) -> None:
        self._nominal = None if timeout_s is None else started + timeout_s
        self._debounce = debounce_s
        self._max_extension = max_extension_s
        self._last_event = started

    def saw(self, event: Event | None, now: float) -> None:
        """Note that the child did something that could be decoded."""
        del event
        self._last_event = now

    def deadline(self) -> float | None:
        """Return the moment at which the run ends unless something happens before."""
        if self._nominal is None:
            return None
        if self._debounce <= 0:
            return self._nominal
        idle_since = max(self._nominal, self._last_event)
        return min(idle_since + self._debounce, self._nominal + self._max_extension)

    def verdict(self, now: float) -> EndRun | None:
        """End the run when its time is up."""
        deadline = self.deadline()
        return EndRun(Cause.TIMED_OUT) if deadline is not None and now >= deadline else None
