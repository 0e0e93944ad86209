"""
A small SQLite file that many processes of one user share; each of them may be killed.

In: a path, and what makes the tables of a new file or of an older version.  Out: what work done in
one transaction returns.  A file is opened for each use and closed again, so that no process waits
long for another; where another one is at work, the work is tried again for a while.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.system.safe_io import make_private_dirs, write_new

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
WAIT_S = 10.0
_PAUSE_S = 0.02  # where SQLite does not wait by itself
_PRIMARY_CODE = 0xFF  # of SQLite's error codes; the rest is more exact


class SqliteFile:
    """
    One file; `prepare` is called with the version (0: new) of one that is opened.

    What is noted in one that is not durable outlives every process, but perhaps no power cut.
    """

    def __init__(
        self,
        path: Path,
        prepare: Callable[[sqlite3.Connection, int], None],
        *,
        durable: bool = True,
    ) -> None:
        self.path = path
        self._prepare = prepare
        self._synchronous = "NORMAL" if durable else "OFF"

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Try again while another process is at it: SQLite waits for most locks, not all."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                return self._attempt(work)
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE_S)

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        make_private_dirs(self.path.parent)
        with suppress(FileExistsError):
            write_new(self.path, b"")  # SQLite would create it readable for all
        with closing(sqlite3.connect(self.path, timeout=WAIT_S)) as db, db:
            db.text_factory = os.fsdecode  # the name of a directory need not be UTF-8
            db.execute(f"PRAGMA synchronous = {self._synchronous}")
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                db.execute("PRAGMA journal_mode = WAL")
            self._prepare(db, version)
            return work(db)

    def put_aside(self) -> None:
        """Give a damaged file another name."""
        with suppress(FileNotFoundError):  # another process was quicker
            self.path.rename(self.path.with_suffix(f".damaged-{time.time_ns()}"))
        for suffix in ("-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{suffix}").unlink(missing_ok=True)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another process is in the way, whatever it does there."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & _PRIMARY_CODE == sqlite3.SQLITE_BUSY
