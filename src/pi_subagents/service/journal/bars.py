"""
The bars of runs for somebody who looks again and again.

In: records.  Out: a bar for each.  A journal is read once as far as it goes: what a run at work
adds is read on, and the bar of one that is over is kept; so many of each, those asked for last.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.store.run_records import directory_of
from pi_subagents.store.tails import JournalTail
from pi_subagents.system.clock import now_ms
from pi_subagents.view.timeline import Story

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.timeline import Bar

MAX_FOLLOWED, MAX_KEPT = 100, 500


class _Followed:
    """A journal, and what it has made of a bar so far."""

    def __init__(self, record: RunRecord) -> None:
        self._tail = JournalTail(directory_of(record))
        self._story = Story(record)

    def bar(self, record: RunRecord) -> Bar:
        with suppress(OSError):
            for entry in self._tail.new_entries():
                self._story.read(entry)
        return self._story.bar(record, now_ms())

    def close(self) -> None:
        self._tail.close()


class RunBars:
    """Bars by run; any thread may ask."""

    def __init__(self) -> None:
        self._followed: OrderedDict[str, _Followed] = OrderedDict()
        self._kept: OrderedDict[str, Bar] = OrderedDict()
        self._lock = threading.Lock()

    def bar(self, record: RunRecord) -> Bar:
        """Return the bar of a run by now."""
        with self._lock:
            if record.run_id in self._kept:
                self._kept.move_to_end(record.run_id)
                return self._kept[record.run_id]
            followed = self._followed.pop(record.run_id, None) or _Followed(record)
            bar = followed.bar(record)
            if record.active:
                self._followed[record.run_id] = followed
            else:
                followed.close()
                self._kept[record.run_id] = bar
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
            if len(self._followed) > MAX_FOLLOWED:
                self._followed.popitem(last=False)[1].close()
            return bar

    def close(self) -> None:
        """Release every journal."""
        with self._lock:
            while self._followed:
                self._followed.popitem()[1].close()
