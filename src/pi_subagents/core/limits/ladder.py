"""
The stop ladder: ask politely, wait, then insist.

Clock-free: it is told the time (monotonic seconds) and answers which rung to take and when the next
one is due.
"""

from __future__ import annotations

from enum import Enum

STOP_GRACE_S = 5.0
ASK_GRACE_S = 1.0
SETTLED_GRACE_S = 5.0


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
