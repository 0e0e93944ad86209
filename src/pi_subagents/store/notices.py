"""
Whose turn it is to tell of a background run's end: one watcher's, even if one of them dies.

A watcher holds a lock while it tells, and leaves a mark when it has told.  The kernel lets go of
the lock of a watcher that died: then it is another's turn.  So the end is told once, and again
only if a watcher died between its telling and the mark.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pi_subagents.system.calls import FileCalls
from pi_subagents.system.safe_io import PRIVATE_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def is_told(run_dir: RunDir) -> bool:
    """Return whether somebody has told of the run's end."""
    return os.path.lexists(_done(run_dir))


@contextmanager
def turn_to_tell(run_dir: RunDir) -> Iterator[bool]:
    """Yield whether it is our turn; what is then done without an exception counts as told."""
    lock = _take(_claim(run_dir))
    if lock is None:
        yield False
        return
    try:
        # Looked at with the lock in hand: whoever had it before has left its mark by now.
        ours = not is_told(run_dir)
        yield ours
        if ours:
            with suppress(OSError):
                FileCalls.rename(_claim(run_dir), _done(run_dir))
    finally:
        os.close(lock)


def _take(path: Path) -> int | None:
    """Return the lock, held, or None if another has it or there is none to be had."""
    try:
        lock = FileCalls.open(path, _OPEN, PRIVATE_FILE)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _claim(run_dir: RunDir) -> Path:
    return run_dir.path / "notice.claimed"


def _done(run_dir: RunDir) -> Path:
    return run_dir.path / "notice.done"
