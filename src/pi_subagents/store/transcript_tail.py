"""
Follow a run's transcript: each call returns the lines that were added since the last.

In: the file's path.  Out: printable lines.  Bounded: of much that is new, only the last half
megabyte is read, and `skipped` tells that there was more.  A file that does not exist yet is empty.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.system.safe_io import open_regular

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 512 * 1024
TAB_WIDTH = 4


class TranscriptTail:
    """A place in one transcript.log."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most = most_bytes
        self._place = 0
        self._rest = b""  # a line without its end
        self.skipped = False

    def new_lines(self) -> list[str]:
        """Return what was added, whole lines only."""
        data = self._rest + self._added()
        whole, line_end, self._rest = data.rpartition(b"\n")
        if len(self._rest) > self._most:
            whole, self._rest = data, b""
        elif not line_end:
            return []
        lines = whole.decode("utf-8", "replace").split("\n")
        return [printable(line).expandtabs(TAB_WIDTH).rstrip() for line in lines]

    def _added(self) -> bytes:
        try:
            descriptor = open_regular(self._path)
        except OSError:
            return b""
        try:
            size = os.fstat(descriptor).st_size
            if size - self._place > self._most:
                self.skipped = True
                self._place = size - self._most
                self._rest = b""
                # What is left of a line that began earlier says nothing.
                found = os.pread(descriptor, self._most, self._place)
                self._place += len(found)
                return found.partition(b"\n")[2]
            found = os.pread(descriptor, self._most, self._place)
            self._place += len(found)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        return found
