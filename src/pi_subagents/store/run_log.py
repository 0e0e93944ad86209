"""
What a supervisor writes: journal, transcript and raw logs of one run, each bounded.

An event that was shown anywhere is in the journal first.  Logs are best effort: a log that cannot
be written is given up, remembered as truncated, with the reason, and never keeps a run from its
result.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import printable
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, bounded, encode_entry
from pi_subagents.core.run.progress import ProgressFormatter, failure_line
from pi_subagents.core.run.spec import MAX_RUN_BYTES
from pi_subagents.store import messages
from pi_subagents.system import safe_io
from pi_subagents.system.calls import FileCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

# What each file may take of what a run may take; the rest is for the result and small files.
STDOUT_SHARE = 4
JOURNAL_SHARE = 4
TRANSCRIPT_SHARE = 16
STDERR_SHARE = 64
_CHUNK = 1024 * 1024
# Beyond these many, text that is no record of the protocol stays in the raw logs only.
MAX_TEXT_LINES = 1000


class CappedFile:
    """An append-only file that stops at its cap, or at the first error, and notes which."""

    def __init__(self, path: Path, cap: int, *, whole_records: bool = False) -> None:
        self._whole = whole_records
        self.name = path.name
        self.cap = cap
        self.truncated = False
        self.problem = ""  # why it was given up; empty where it reached its cap
        self._left = cap
        try:
            self._descriptor = safe_io.open_new(path, append=True)
        except OSError as error:
            self._descriptor = -1
            self._give_up(error)

    def write(self, data: bytes) -> bool:
        """Append what still fits; return whether all of it was kept."""
        if self.truncated:
            return False
        kept = b"" if self._whole and len(data) > self._left else data[: self._left]
        try:
            safe_io.write_all(self._descriptor, kept)
        except OSError as error:
            self._give_up(error)
            if self._whole:  # what was written of it is no record
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self.cap - self._left)
            return False
        self._left -= len(kept)
        self.truncated = len(kept) < len(data)
        return not self.truncated

    def is_unlinked(self) -> bool:
        """Return whether the file lost its name while we write it."""
        return self._descriptor >= 0 and os.fstat(self._descriptor).st_nlink == 0

    def move_to(self, path: Path) -> None:
        """Continue in another file with the same content; where that fails, in this one."""
        if self._descriptor < 0:
            return
        try:
            moved = safe_io.open_new(path, append=True)
        except OSError as error:
            self._give_up(error)
            return
        try:
            place = 0
            while chunk := os.pread(self._descriptor, _CHUNK, place):
                safe_io.write_all(moved, chunk)
                place += len(chunk)
        except OSError as error:
            self._give_up(error)
        os.close(self._descriptor)
        self._descriptor = moved

    def sync(self) -> None:
        """Flush to disk, as far as possible."""
        try:
            if self._descriptor >= 0:
                FileCalls.fsync(self._descriptor)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Write nothing more; what went wrong first is the reason."""
        if not self.truncated:
            self.truncated = True
            self.problem = error.strerror or str(error)

    def note(self) -> str:
        """Return the note on a file that is not whole."""
        if self.problem:
            return messages.note_log_unwritable(self.name, self.problem)
        return messages.note_log_cut(self.name, self.cap)

    def close(self) -> None:
        """Close the file; a second call changes nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class RunLog:
    """Everything a run leaves behind but its meta and result."""

    def __init__(
        self,
        run_dir: RunDir,
        title: str,
        *,
        max_bytes: int = MAX_RUN_BYTES,
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        self._show = show  # gets what the transcript gets
        self._journal = CappedFile(run_dir.events, max_bytes // JOURNAL_SHARE, whole_records=True)
        self._transcript = CappedFile(
            run_dir.transcript, max_bytes // TRANSCRIPT_SHARE, whole_records=True
        )
        stdout = CappedFile(run_dir.stdout, max_bytes // STDOUT_SHARE)
        stderr = CappedFile(run_dir.stderr, max_bytes // STDERR_SHARE)
        # Raw bytes of the child's standard output, and error.
        self.output, self.error_output = stdout.write, stderr.write
        self._files = (self._journal, self._transcript, stdout, stderr)
        self._formatter = ProgressFormatter()
        self.records = 0
        self._text_lines = 0
        self._write_line(f"# {title}")

    @property
    def truncated(self) -> bool:
        """Return whether anything was not kept."""
        return any(file.truncated for file in self._files)

    def record(self, event: ev.Event, time_ms: int) -> bool:
        """Journal one event and add it to the transcript; return whether it was journaled."""
        if isinstance(event, ev.OutputText | ev.ErrorText):
            self._text_lines += 1
            if self._text_lines > MAX_TEXT_LINES:
                return False
        event = bounded(event)
        self.records += 1
        kept = self._journal.write(encode_entry(JournalEntry(self.records, time_ms, event)))
        if text := self._formatter.text(event):
            self._write_line(text)
        if why := failure_line(event):
            self._write_line(why)
        return kept

    def _write_line(self, text: str) -> None:
        line = f"{printable(text)}\n".encode("utf-8", "replace")
        self._transcript.write(line)
        if self._show is not None:
            self._show(line)

    def is_unlinked(self) -> bool:
        """Return whether a file that we write has lost its name."""
        return any(file.is_unlinked() for file in self._files)

    def move_to(self, run_dir: RunDir) -> None:
        """Continue in another directory, with everything that was written so far."""
        for file in self._files:
            file.move_to(run_dir.path / file.name)

    def sync(self) -> None:
        """Flush the journal, at every change of state."""
        self._journal.sync()

    def notes(self) -> tuple[str, ...]:
        """Return the notes on artifacts that are not whole."""
        return tuple(file.note() for file in self._files if file.truncated)

    def close(self) -> None:
        """Close every file."""
        for file in self._files:
            file.close()
