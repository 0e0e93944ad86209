"""
Follow the growing files of a run: each call returns what was added to them since the last.

A file that does not exist yet is an empty one, and an unfinished last line waits for its end.
Entries of a journal come whole, in order and once; a damaged line is passed over.  A journal that
loses its name while it grows is read on by its handle, and where its run was moved, there.  Of a
transcript only the last half megabyte of what is new is read, and `skipped` shows that there was
more.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.plain_text import printable
from pi_subagents.core.run.journal import JournalEntry, decode_entry
from pi_subagents.system.safe_io import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

_CHUNK = 256 * 1024
_HOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_NEW_BYTES = 512 * 1024
TAB_WIDTH = 4
TRANSCRIPT_HEADING = re.compile(r"# .* \(run [0-9a-f]+\)")


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
            if os.fstat(self._descriptor).st_nlink or not self._follow():
                return

    def close(self) -> None:
        """Close the file; a second call changes nothing."""
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

    def _follow(self) -> bool:
        """Read on where the run was rescued to: that journal begins with what was read here."""
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


class TranscriptTail:
    """A place in one transcript.log."""

    def __init__(self, path: Path, max_new_bytes: int = MAX_NEW_BYTES) -> None:
        self._path = path
        self._max = max_new_bytes
        self._place = 0
        self._rest = b""  # a line without its end
        self._at_top = True
        self.skipped = False

    def new_lines(self) -> list[str]:
        """Return what was added as printable lines, whole ones only, without the heading."""
        added = self._added()  # first: the rest of a line is dropped where something was skipped
        data = self._rest + added
        whole, line_end, self._rest = data.rpartition(b"\n")
        if len(self._rest) > self._max:
            whole, self._rest = data, b""
        elif not line_end:
            return []
        lines = whole.decode("utf-8", "replace").split("\n")
        if self._at_top and not self.skipped and TRANSCRIPT_HEADING.fullmatch(lines[0]):
            del lines[0]
        self._at_top = False
        return [printable(line).expandtabs(TAB_WIDTH).rstrip() for line in lines]

    def _added(self) -> bytes:
        try:
            with os.fdopen(open_regular(self._path), "rb", buffering=0) as file:
                begin = max(os.fstat(file.fileno()).st_size - self._max, self._place)
                found = os.pread(file.fileno(), self._max, begin)
        except OSError:
            return b""
        skips, self._place = begin > self._place, begin + len(found)
        if skips:
            self.skipped, self._rest = True, b""
            found = found.partition(b"\n")[2]  # what is left of a line that began earlier
        return found
