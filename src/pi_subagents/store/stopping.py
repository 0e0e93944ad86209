"""
End a run from outside: its supervisor is asked, and whatever it does, that comes to an end.

In: a run that goes on.  Out: what came of it.  One that was never begun is kept from it; a
supervisor that does not answer is ended itself, with everything below it, if that was asked for.
"""

from __future__ import annotations

import time
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import KILL, STOP
from pi_subagents.store.desk import STOPPED
from pi_subagents.store.orders import ANSWER_LIMIT_S, Order, give_order
from pi_subagents.store.recovery import conclude_in_turn, end_unanswering, keep_from_beginning

if TYPE_CHECKING:
    from pi_subagents.store.run_dir import RunDir

# Longer than any supervisor takes that is at it: asking, grace, and sweeping what is left.
STOP_LIMIT_S = 30.0
KILL_LIMIT_S = 20.0
_PAUSE_S = 0.02


class Stopped(Enum):
    """What came of it."""

    ENDED = "ended"
    OVER = "over"  # it had come to its end before
    DEAF = "deaf"  # nobody takes orders for it
    SILENT = "silent"  # somebody is there, and does not answer
    AT_IT = "at it"  # the order was taken, and the run has not ended all the same


class Stopping:
    """One run that is to end; it is asked at once, and waited for later."""

    def __init__(self, run_dir: RunDir, *, force: bool) -> None:
        self.run_dir = run_dir
        self._force = force
        self._deadline = time.monotonic() + ANSWER_LIMIT_S
        self._silent = False
        self._order = self._ask()

    def finish(self) -> Stopped:
        """Wait for the end, as long as it may take; tell what came of it."""
        taken = self._was_taken()
        if isinstance(taken, Stopped):
            return taken
        limit_s = KILL_LIMIT_S if self._force else STOP_LIMIT_S
        if taken and self.run_dir.desk.wait_for_end(limit_s):
            return self._ended()
        if self._force and end_unanswering(self.run_dir.desk, STOPPED):
            return self._ended()
        if taken:
            return Stopped.AT_IT
        return Stopped.SILENT if self._silent else Stopped.DEAF

    def _was_taken(self) -> bool | Stopped:
        """Return whether the order was taken, or what came of it if there is nobody to take one."""
        while True:
            if self._order is not None:
                with self._order as order:
                    if order.taken():
                        return True
                    if not order.over:
                        self._silent = True
                        return False
            elif keep_from_beginning(self.run_dir):
                return Stopped.ENDED
            if not self.run_dir.desk.alive():
                self._ended()
                return Stopped.OVER
            if time.monotonic() >= self._deadline:
                return False
            time.sleep(_PAUSE_S)
            self._order = self._ask()

    def _ask(self) -> Order | None:
        left = max(self._deadline - time.monotonic(), _PAUSE_S)
        try:
            return give_order(self.run_dir.desk, KILL if self._force else STOP, left)
        except OSError:  # it has no room for another order, and makes none
            self._silent = True
            return None

    def _ended(self) -> Stopped:
        with suppress(OSError):  # no room for its result: the next look tries again
            conclude_in_turn(self.run_dir)
        return Stopped.ENDED
