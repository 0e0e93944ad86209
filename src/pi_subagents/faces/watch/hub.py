"""
Where the thread that follows the fleet meets those that tell pages of it.

In: a fleet.  Out: a number that grows with each change, and waiting for the next.  If following
breaks down, everybody is let go, and whoever asked for it hears why.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.fleet import Fleet
    from pi_subagents.service.fleet_actions import ActionReport

MAX_NOTICES = 20


class Hub:
    """The fleet as pages see it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._changed = threading.Condition()
        self._version = 0
        self._notices: deque[tuple[int, ActionReport]] = deque(maxlen=MAX_NOTICES)
        self._told = 0
        self._over = threading.Event()
        self._failure: BaseException | None = None

    @property
    def rows(self) -> tuple[RunRecord, ...]:
        """All rows as they are now."""
        return self._fleet.rows

    @property
    def over(self) -> bool:
        """Tell whether there will be no more changes."""
        return self._over.is_set()

    def start(self) -> None:
        """Begin to follow, in a thread of its own."""
        threading.Thread(target=self._follow, name="fleet", daemon=True).start()

    def wait_for_end(self) -> None:
        """Wait until following is over; raise what broke it."""
        self._over.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Let everybody go."""
        self._fleet.close()
        self._over.set()
        self._bump()

    def wait(self, version: int, timeout_s: float) -> int:
        """Return the version, once it is another than this or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or self.over, timeout_s)
            return self._version

    def tell(self, told: ActionReport) -> None:
        """Have every page say something."""
        with self._changed:
            self._told += 1
            self._notices.append((self._told, told))
        self._bump()

    def notices(self, after: int) -> list[tuple[int, ActionReport]]:
        """Return what was said since, each with its number."""
        with self._changed:
            return [each for each in self._notices if each[0] > after]

    @property
    def last_notice(self) -> int:
        """The number of what was said last."""
        return self._told

    def _follow(self) -> None:
        try:
            self._fleet.follow(self._bump)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._failure = error
        finally:
            self._over.set()
            self._bump()

    def _bump(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()
