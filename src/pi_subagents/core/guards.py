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
ASK_GRACE_S = 1.0
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
        # Arguments that could not be taken in are like no others, though nobody knows them.
        signature = "" if call.arguments is None else call_signature(call)
        self._count = self._count + 1 if signature and signature == self._last else 1
        self._last = signature
        return self._count >= self._limit


def call_signature(call: ToolCall) -> str:
    """Return a text that two calls share only if they ask for exactly the same."""
    return json.dumps([call.name, call.arguments], sort_keys=True, separators=(",", ":"))


class Rung(Enum):
    """What the stop ladder asks for."""

    WAIT = "wait"
    ASK = "ask"
    TERM = "term"
    KILL = "kill"


class StopLadder:
    """
    Ask politely, wait, then insist: TERM to the child, `grace_s` later KILL to the tree.

    A child that takes commands is asked first, and has `ask_s` before TERM; 0: there is no asking.
    """

    def __init__(self, grace_s: float = STOP_GRACE_S, ask_s: float = 0.0) -> None:
        self._grace = grace_s
        self._ask = ask_s
        self._next = Rung.ASK if ask_s > 0 else Rung.TERM
        self._due_at: float | None = None
        self.begun = False

    def begin(self, now: float) -> None:
        """Start to stop; a second call changes nothing."""
        if not self.begun:
            self.begun, self._due_at = True, now

    def hurry(self, now: float) -> None:
        """Take the next rung now if it is TERM: the child has done what it was asked."""
        if self.begun and self._next is Rung.TERM:
            self._due_at = now

    def force(self, now: float) -> None:
        """Skip everything polite."""
        self.begin(now)
        if self._next is not Rung.WAIT:
            self._next, self._due_at = Rung.KILL, now

    def deadline(self) -> float | None:
        """Return when the next rung is due."""
        return self._due_at

    def due(self, now: float) -> Rung:
        """Return the rung to take now, each at most once."""
        if self._due_at is None or now < self._due_at:
            return Rung.WAIT
        rung = self._next
        match rung:
            case Rung.ASK:
                self._next, self._due_at = Rung.TERM, now + self._ask
            case Rung.TERM:
                self._next, self._due_at = Rung.KILL, now + self._grace
            case _:
                self._next, self._due_at = Rung.WAIT, None
        return rung
