"""
The fleet as pages see it: one thread follows it, and whoever shows it waits for the next change.

In: a fleet.  Out: its rows, a version that is another after each change, reports of actions.  If
following breaks down, everything ends, and whoever started it sees why.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.service.journal.bars import RunBars

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.fleet import Fleet
    from pi_subagents.service.fleet_actions import ActionReport

MAX_NOTICES = 20


@value
class About:
    """What is watched, and where."""

    project: str = ""  # nothing for those of the whole machine
    machine: str = ""


class Hub:
    """The fleet as pages see it."""

    def __init__(self, fleet: Fleet, about: About | None = None) -> None:
        self.about = about or About()
        self.bars = RunBars()
        self._fleet = fleet
        self._changed = threading.Condition()
        self._version = 0
        self._notices: deque[tuple[int, ActionReport]] = deque(maxlen=MAX_NOTICES)
        self._noticed = 0
        self._over = threading.Event()
        self._failure: BaseException | None = None

    @property
    def rows(self) -> tuple[RunRecord, ...]:
        """All rows as they are now."""
        return self._fleet.rows

    def find(self, run_id: str) -> RunRecord | None:
        """Return one row."""
        return next((row for row in self.rows if row.run_id == run_id), None)

    @property
    def over(self) -> bool:
        """Return whether there will be no more changes."""
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
        """End, and have every page end."""
        self._fleet.close()
        self.bars.close()
        self._end()

    def wait(self, version: int, timeout_s: float) -> int:
        """Return the version, once it is another than this or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version or self.over, timeout_s)
            return self._version

    def report(self, report: ActionReport) -> None:
        """Have every page show how an action went."""
        with self._changed:
            self._noticed += 1
            self._notices.append((self._noticed, report))
        self._bump()

    def notices(self, after: int) -> list[tuple[int, ActionReport]]:
        """Return the reports since, each with its number."""
        with self._changed:
            return [each for each in self._notices if each[0] > after]

    @property
    def last_notice(self) -> int:
        """The number of the last report."""
        return self._noticed

    def _follow(self) -> None:
        try:
            self._fleet.follow(self._bump)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits
            self._failure = error
        finally:
            self._end()

    def _end(self) -> None:
        self._over.set()
        self._bump()

    def _bump(self) -> None:
        with self._changed:
            self._version += 1
            self._changed.notify_all()
