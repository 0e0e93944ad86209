"""
What may end a run early: time-out with extension, loops, and the stop ladder.

Clock-free state machines: they are told the time (monotonic seconds) and what happened, and
answer when they next want to be asked and whether the run must end.  No timers, no signals.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.core.events import ToolCall

STOP_GRACE_S = 5.0
SETTLED_GRACE_S = 5.0


class TimeoutGuard:
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

    def saw_event(self, now: float) -> None:
        """Note that the child did something that could be decoded."""
        self._last_event = now

    def deadline(self) -> float | None:
        """Return the moment at which the run ends unless something happens before."""
        if self._nominal is None:
            return None
        if self._debounce <= 0:
            return self._nominal
        idle_since = max(self._nominal, self._last_event)
        return min(idle_since + self._debounce, self._nominal + self._max_extension)

    def expired(self, now: float) -> bool:
        """Tell whether the run must end now."""
        deadline = self.deadline()
        return deadline is not None and now >= deadline


class LoopGuard:
    """End the run at N consecutive identical calls: same name, same arguments at every depth."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last = ""
        self._count = 0

    def saw_call(self, call: ToolCall) -> bool:
        """Note one call; return whether it completes a loop."""
        if self._limit <= 0:
            return False
        signature = call_signature(call)
        self._count = self._count + 1 if signature == self._last else 1
        self._last = signature
        return self._count >= self._limit


def call_signature(call: ToolCall) -> str:
    """Return a text that two calls share only if they ask for exactly the same."""
    return json.dumps([call.name, call.arguments], sort_keys=True, separators=(",", ":"))


class Rung(Enum):
    """What the stop ladder asks for."""

    WAIT = "wait"
    TERM = "term"
    KILL = "kill"


class StopLadder:
    """Ask politely, wait, then insist: TERM to the child, `grace_s` later KILL to the tree."""

    def __init__(self, grace_s: float = STOP_GRACE_S) -> None:
        self._grace = grace_s
        self._begun: float | None = None
        self._forced = False
        self._done = Rung.WAIT

    @property
    def begun(self) -> bool:
        """Tell whether a stop is under way."""
        return self._begun is not None

    def begin(self, now: float) -> None:
        """Start to stop; a second call changes nothing."""
        if self._begun is None:
            self._begun = now

    def force(self, now: float) -> None:
        """Skip the grace period."""
        self.begin(now)
        self._forced = True

    def deadline(self) -> float | None:
        """Return when the next rung is due."""
        if self._begun is None or self._done is Rung.KILL:
            return None
        if self._forced or self._done is Rung.WAIT:
            return self._begun
        return self._begun + self._grace

    def due(self, now: float) -> Rung:
        """Return the rung to take now, each at most once."""
        deadline = self.deadline()
        if deadline is None or now < deadline:
            return Rung.WAIT
        last = self._forced or self._done is Rung.TERM
        self._done = Rung.KILL if last else Rung.TERM
        return self._done
