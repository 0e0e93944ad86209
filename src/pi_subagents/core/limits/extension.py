"""The word at a time-out that does not end the run: it goes on while the child is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.limits.base import Announce
from pi_subagents.core.messages import extended_now

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.spec import RunLimits


class ExtensionNotice:
    """Say once, at the time-out, that the run goes on, and for how long it may."""

    def __init__(self, wanted: RunLimits, started: float) -> None:
        timeout_s, idle_s, most_s = wanted.timeout_s, wanted.extend_debounce_s, wanted.extend_max_s
        self._due: float | None = None
        if timeout_s is not None and min(idle_s, most_s) > 0:
            self._due = started + timeout_s
            self._text = extended_now(timeout_s, idle_s, most_s)

    def saw(self, event: Event | None, now: float) -> None:
        """Nothing that the child does changes it."""

    def deadline(self) -> float | None:
        """Return when it is to be said, if it is yet to be."""
        return self._due

    def verdict(self, now: float) -> Announce | None:
        """Say it, once."""
        if self._due is None or now < self._due:
            return None
        self._due = None
        return Announce(self._text)
