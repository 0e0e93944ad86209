"""
Follow what becomes of something that was put on a run's desk: its journal will hold that.

In: a run's directory, which event is meant, and how long to wait.  Out: that event, or None once
the run is over or the wait is.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.store.tails import JournalTail

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from pi_subagents.core.run.events import Event
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

LOOK_S = 0.05  # between two looks at the journal
_REMOTE_LOOK_S = 0.2  # at that of a run in a cluster


def follow(
    run_dir: RunDir,
    is_meant: Callable[[Event], bool],
    deadline: float,
    give_up: threading.Event,
    runs: Runs,
) -> Event | None:
    """Return the event that is meant."""
    tail = JournalTail(run_dir)
    try:
        while True:
            runs.refresh([run_dir], every_s=_REMOTE_LOOK_S)
            over = is_over(run_dir)  # its last word is in the journal then
            with suppress(OSError):
                for entry in tail.new_entries():
                    if is_meant(entry.event):
                        return entry.event
            left = deadline - time.monotonic()
            if over or left <= 0 or give_up.is_set():
                return None
            give_up.wait(min(left, LOOK_S))
    finally:
        tail.close()


def is_over(run_dir: RunDir) -> bool:
    """Return whether no process answers for a run any more."""
    return not run_dir.alive() or run_dir.never_began()
