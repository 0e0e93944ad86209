"""
Where a run's files are, whatever becomes of its directory while it runs.

In: the directory as it was planned.  Out: the same by a handle, which no renaming and no link can
mislead.  One that is moved is followed; one that is removed, or loses files that we write, is
replaced by another in the data directory, once.  The run's desk records where it is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.store import messages as store_messages
from pi_subagents.store.desk import path_of_handle
from pi_subagents.store.rescue import move_rest, rescue
from pi_subagents.store.run_dir import mark_of
from pi_subagents.supervisor import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.limits.budget import Purse
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.store.run_log import RunLog

_HOLD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RunPlace:
    """One run's directory: `where` it is for others, and `dir` as we write to it."""

    def __init__(self, planned: RunDir, mark: str) -> None:
        self.where = self.dir = self._planned = planned
        self.note = ""  # on it, for the result
        self.kept = False  # whether the result is on disk
        self.purses: Sequence[Purse] = ()  # of the budgets that the run keeps to
        self._handle = -1
        self._tried = False  # to continue elsewhere
        if not self._hold(planned, mark):
            self._continue_elsewhere(None)

    def look(self, log: RunLog) -> None:
        """Check that the directory is there: a few system calls, if it is."""
        if self._handle < 0:
            return
        removed = os.fstat(self._handle).st_nlink == 0 or log.is_unlinked()
        if removed or not (self._is_at(self.where.path) or self._follow()):
            self._continue_elsewhere(log)

    def keep_result(self, result: RunResult, log: RunLog | None) -> RunResult:
        """Put the result where it is found, and return it as it is kept."""
        for look in (self.look, self._continue_elsewhere):
            with suppress(OSError):
                if log is not None:
                    look(log)
                noted = (*result.notes, self.note) if self.note else result.notes
                kept = self.dir.write_result(replace(result, notes=noted))
                self.kept = True
                return kept
        return replace(result, notes=(*result.notes, store_messages.NOTE_NOT_KEPT))

    def close(self) -> None:
        """Close the handle; a second call changes nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _hold(self, run_dir: RunDir, mark: str = "") -> bool:
        """Open a directory; return whether it is there, and the one that was planned."""
        try:
            handle = os.open(run_dir.path, _HOLD)
        except OSError:
            return False
        if mark and mark_of(os.fstat(handle)) != mark:
            os.close(handle)
            return False
        self.close()
        self._handle, self.where, self.dir = handle, run_dir, run_dir
        if by_handle := path_of_handle(handle):
            self.dir = replace(run_dir, path=Path(by_handle))
        return True

    def _is_at(self, path: Path) -> bool:
        try:
            return os.path.samestat(path.lstat(), os.fstat(self._handle))
        except OSError:
            return False

    def _follow(self) -> bool:
        """Find out where the directory was moved to; return whether it can be reached there."""
        try:
            path = Path(os.readlink(f"/proc/self/fd/{self._handle}"))  # noqa: PTH115 - a text
        except OSError:
            return False
        if not self._is_at(path):
            return False
        with suppress(OSError):
            self.where.desk.note_place(path)
        self.where = replace(self.where, path=path)
        return True

    def _continue_elsewhere(self, log: RunLog | None) -> None:
        """Continue in the data directory; where that fails, with the files that are open."""
        if self._tried:
            return
        self._tried = True
        try:
            target = rescue(self._planned)
        except OSError:
            return
        if log is not None:
            log.move_to(target)
        if self._handle >= 0:
            move_rest(self.dir.path, target)
            if self._is_at(self.where.path):
                with suppress(OSError):
                    self.where.path.rmdir()
        gone = str(self.where.path)
        if self._hold(target):
            self.note = messages.note_rescued(gone, str(target.path))
