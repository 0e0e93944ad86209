"""
Follow a run's journal: each call returns the entries that were added since the last.

Entries come whole, in order and once.  A file that does not exist yet is an empty one; an
unfinished last line waits for its end; a damaged line is passed over.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.journal import Entry, decode_entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 256 * 1024


class JournalTail:
    """A place in one events.jsonl."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1
        self._framer = LineFramer()

    def new_entries(self) -> Iterator[Entry]:
        """Yield what was added, holding one chunk in memory at a time."""
        if not self._opened():
            return
        while chunk := os.read(self._descriptor, _CHUNK):
            for frame in self._framer.feed(chunk):
                entry = decode_entry(frame.data) if isinstance(frame, Line) else None
                if entry is not None:
                    yield entry

    def close(self) -> None:
        """Let go of the file; a second call changes nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _opened(self) -> bool:
        if self._descriptor < 0:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                self._descriptor = os.open(self._path, flags)
            except FileNotFoundError:
                return False
        return True
