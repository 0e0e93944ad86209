"""
Follow a run's journal: each call returns the entries that were added since the last.

Entries come whole, in order and once.  A file that does not exist yet is an empty one; an
unfinished last line waits for its end; a damaged line is passed over.  A journal whose name is
taken away while it grows is read on by its handle, and where its run goes on elsewhere, there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.run.journal import JournalEntry, decode_entry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.store.run_dir import RunDir

_CHUNK = 256 * 1024
_HOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def journal_entries(run_dir: RunDir) -> Iterator[JournalEntry]:
    """Yield what a journal has by now, as far as it can be read."""
    tail = JournalTail(run_dir)
    try:
        yield from tail.new_entries()
    except OSError:
        return
    finally:
        tail.close()


class JournalTail:
    """A place in the journal of one run."""

    def __init__(self, run_dir: RunDir) -> None:
        self._dir = run_dir
        self._descriptor = -1
        self._read = 0
        self._framer = LineFramer()

    def new_entries(self) -> Iterator[JournalEntry]:
        """Yield what was added, holding one chunk in memory at a time."""
        if self._descriptor < 0 and not self._open():
            return
        while True:
            while chunk := os.read(self._descriptor, _CHUNK):
                self._read += len(chunk)
                for frame in self._framer.feed(chunk):
                    entry = decode_entry(frame.data) if isinstance(frame, Line) else None
                    if entry is not None:
                        yield entry
            if os.fstat(self._descriptor).st_nlink or not self._go_on_elsewhere():
                return

    def close(self) -> None:
        """Let go of the file; a second call changes nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> bool:
        for run_dir in (self._dir, self._dir.now()):
            try:
                self._descriptor = os.open(run_dir.events, _HOW)
            except FileNotFoundError:
                continue
            return True
        return False

    def _go_on_elsewhere(self) -> bool:
        """Read on where the run was rescued to: what is there begins with what was here."""
        elsewhere = self._dir.now()
        if elsewhere == self._dir:
            return False
        try:
            descriptor = os.open(elsewhere.events, _HOW)
        except OSError:
            return False
        os.lseek(descriptor, self._read, os.SEEK_SET)
        self.close()
        self._descriptor, self._dir = descriptor, elsewhere
        return True
