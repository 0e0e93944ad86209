"""
The index: which runs exist on this machine, by run id and session id, wherever they live.

A small SQLite file in the user's data directory.  It holds no truth of its own, only where to look
and what is not over yet: lost or damaged, it is put aside and built again from run directories
that carry our seal.  A directory it does not know (one that came with a cloned repository) is
never recovered, signalled or changed.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.store.desk import DESKS, RESCUED, Desk
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.sealing import Sealer
from pi_subagents.store.sqlite_file import WAIT_S, SqliteFile, is_busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
FILE_NAME = "index.sqlite3"
VERSION = 3
_AT_ONCE = 500  # every SQLite takes as many values in one query
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    directory TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    ended INTEGER NOT NULL DEFAULT 0,
    detached INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_session ON runs (session_id, created_ms);
CREATE INDEX IF NOT EXISTS runs_not_ended ON runs (ended) WHERE ended = 0;
CREATE INDEX IF NOT EXISTS runs_detached ON runs (detached, created_ms) WHERE detached = 1;
CREATE TABLE IF NOT EXISTS stores (
    directory BLOB PRIMARY KEY,
    mark TEXT NOT NULL
) WITHOUT ROWID;
PRAGMA user_version = 3;
"""
# Version 1 had no column `detached`: there were no background runs.
_FROM_VERSION_1 = "ALTER TABLE runs ADD COLUMN detached INTEGER NOT NULL DEFAULT 0"
# Whatever made a run go, a move or an unmounted disk, may bring it and others back.
_FORGET_STORE_OF = (
    "DELETE FROM stores WHERE directory = (SELECT CAST(substr(directory, 1, "
    "length(directory) - length(run_id) - 1) AS BLOB) FROM runs WHERE run_id = ?)"
)


# Of a run: its id, its session's, its directory, when it was planned, if in the background.
IndexRow = tuple[str, str, str, int, bool]


class RunIndex:
    """The index of one user; every call opens and closes the file, so processes never wait long."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.path = data_dir / FILE_NAME  # which may not exist yet
        self._file = SqliteFile(self.path, _prepare)

    def add(self, runs: Iterable[IndexRow]) -> None:
        """Make runs known; one that is known already keeps whether it ended."""
        rows = [
            (run_id, session_id, os.fsencode(directory), created_ms, detached)
            for run_id, session_id, directory, created_ms, detached in runs
        ]
        query = (
            "INSERT OR IGNORE INTO runs (run_id, session_id, directory, created_ms, detached) "
            "VALUES (?, ?, CAST(? AS TEXT), ?, ?)"
        )
        self._use(lambda db: db.executemany(query, rows))

    def move(self, run_id: str, directory: Path) -> None:
        """Note that a run is kept somewhere else now."""
        query = "UPDATE runs SET directory = CAST(? AS TEXT) WHERE run_id = ?"
        self._use(lambda db: db.execute(query, (os.fsencode(directory), run_id)))

    def mark_ended(self, run_ids: Iterable[str]) -> None:
        """Note that runs have results, so that they are not looked at again."""
        self._for_each(run_ids, "UPDATE runs SET ended = 1 WHERE run_id = ?")

    def remove(self, run_ids: Iterable[str]) -> None:
        """Forget runs whose directories are gone, and that all of their stores' runs are known."""
        self._for_each(run_ids, _FORGET_STORE_OF, "DELETE FROM runs WHERE run_id = ?")

    # Where runs live, as it was noted; a run may have gone elsewhere since (`RunDir.now`).

    def not_ended(self) -> dict[RunDir, str]:
        """Return every run that was not over when last looked at, with its session's id."""
        return self._select("WHERE ended = 0 ORDER BY created_ms")

    def all(self) -> list[RunDir]:
        """Return every known run of this user, oldest first."""
        return list(self._select("ORDER BY created_ms, run_id"))

    def starting_with(self, beginning: str) -> list[RunDir]:
        """Return the runs whose id begins so; only hex digits are looked for."""
        end = beginning + "g"  # the first character after the hex digits
        return list(self._select("WHERE run_id >= ? AND run_id < ?", beginning, end))

    def sessions_starting_with(self, beginning: str) -> list[str]:
        """Return the ids of the sessions that begin so; only hex digits are looked for."""
        found = self._select("WHERE session_id >= ? AND session_id < ?", beginning, beginning + "g")
        return sorted(set(found.values()))

    def of_session(self, session_id: str) -> list[RunDir]:
        """Return the runs of a session, oldest first."""
        return list(self._select("WHERE session_id = ? ORDER BY created_ms", session_id))

    def detached(self) -> list[RunDir]:
        """Return every background run of this user, newest first."""
        return list(self._select("WHERE detached = 1 ORDER BY created_ms DESC, run_id"))

    def is_detached(self, run_id: str) -> bool:
        """Return whether a run is a background run."""
        return bool(self._select("WHERE run_id = ? AND detached = 1", run_id))

    def unknown(self, run_dirs: Iterable[RunDir]) -> list[RunDir]:
        """Return those directories that are not in the index, copies of known ones included."""
        candidates = list(run_dirs)
        places = self._places(candidates)
        # Looked at through a link, a project has another name but the same runs.
        return [
            run
            for run in candidates
            if (known := places.get(run.run_id)) is None
            or (known != str(run.path) and os.path.realpath(known) != os.path.realpath(run.path))
        ]

    def knows_all(self, store: Path, mark: str) -> bool:
        """Return whether every run of ours in a store was known when it had this mark."""
        query, key = "SELECT mark FROM stores WHERE directory = ?", os.fsencode(store)
        return self._use(lambda db: db.execute(query, (key,)).fetchall()) == [(mark,)]

    def note_all_known(self, store: Path, mark: str) -> None:
        """Note that every run of ours in a store is known, for as long as it has this mark."""
        row = (os.fsencode(store), mark)
        self._use(lambda db: db.execute("INSERT OR REPLACE INTO stores VALUES (?, ?)", row))

    # The seal: proof that a run directory was made here, by us.

    def seal(self, run_dir: RunDir) -> str:
        """Return what only we can write into a run's meta.json."""
        material = f"{run_dir.run_id}\0{run_dir.path}".encode("utf-8", "surrogateescape")
        return Sealer(self._data_dir, material).seal()

    def sealed(self, run_dir: RunDir) -> bool:
        """Return whether a run directory is one we made, where we made it."""
        if self._is_rescued(run_dir):
            return True
        with suppress(OSError, ValueError):
            seal = run_dir.read_meta().get("seal")
            return seal == self.seal(run_dir) and not run_dir.redirected()
        return False

    def foreign(self, run_dir: RunDir) -> bool:
        """Return whether a run directory is surely not ours; one that cannot be read may be."""
        if self._is_rescued(run_dir):
            return False
        try:
            return run_dir.read_meta().get("seal") != self.seal(run_dir)
        except (FileNotFoundError, ValueError):
            return True
        except OSError:
            return False

    def _is_rescued(self, run_dir: RunDir) -> bool:
        """Return whether a directory is where only we put runs."""
        return run_dir.path.is_relative_to(self._data_dir / RESCUED)

    def adopt(self, run_dirs: Iterable[RunDir]) -> list[RunDir]:
        """
        Make run directories known whatever their seal; return those for which that worked.

        One that cannot be read, or is a copy of a run kept elsewhere, is left as it is.
        """
        candidates = list(run_dirs)
        places = self._places(candidates)
        moved: list[str] = []
        adopted: dict[RunDir, IndexRow] = {}
        for run_dir in candidates:
            with suppress(OSError, ValueError):
                meta = run_dir.read_meta()
                session, created = meta.get("sessionId"), meta.get("createdAt")
                if not isinstance(session, str) or not isinstance(created, int):
                    continue
                if (other := places.get(run_dir.run_id)) is not None:
                    if Path(other).is_dir():
                        continue
                    moved.append(run_dir.run_id)  # to here
                detached = meta.get("attached") is False
                place = places[run_dir.run_id] = str(run_dir.path)
                adopted[run_dir] = run_dir.run_id, session, place, created, detached
        self.remove(moved)
        if adopted:
            self.add(adopted.values())
        return list(adopted)

    def adopt_sealed(self, run_dirs: Iterable[RunDir]) -> list[RunDir]:
        """Make our own directories known again after the index was lost."""
        return self.adopt(each for each in self.unknown(run_dirs) if self.sealed(each))

    def _for_each(self, run_ids: Iterable[str], *changes: str) -> None:
        rows = [(run_id,) for run_id in run_ids]
        if rows:
            self._use(lambda db: [db.executemany(change, rows) for change in changes])

    def _places(self, run_dirs: Iterable[RunDir]) -> dict[str, str]:
        """Return where these runs are known to live, by their ids, without a look at any other."""
        ids = [run_dir.run_id for run_dir in run_dirs]
        if not ids:
            return {}
        some = [ids[first : first + _AT_ONCE] for first in range(0, len(ids), _AT_ONCE)]
        query = "SELECT run_id, directory FROM runs WHERE run_id IN ({})"
        return self._use(
            lambda db: {
                run_id: directory
                for each in some
                for run_id, directory in db.execute(query.format(",".join("?" * len(each))), each)
            }
        )

    def _select(self, where: str, *values: str) -> dict[RunDir, str]:
        """Return runs in the order that was asked for, with their sessions' ids."""
        query = f"SELECT run_id, session_id, directory FROM runs {where}"  # noqa: S608 - constants
        try:
            rows = self._use(lambda db: db.execute(query, values).fetchall())
        except UnicodeEncodeError:  # half a character: no id has that
            return {}
        desks = self._data_dir / DESKS
        return {
            RunDir(Path(directory), Desk(desks / run_id)): session_id
            for run_id, session_id, directory in rows
        }

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one transaction; a damaged index is put aside and begun anew."""
        try:
            return self._file.use(work)
        except sqlite3.OperationalError as error:  # full, not writable: the file is not to blame
            if is_busy(error) or self._is_an_index():
                raise
        except sqlite3.DatabaseError:
            pass
        self._file.put_aside()
        return self._file.use(work)

    def _is_an_index(self) -> bool:
        """Return whether there is no index yet, or one with our table."""
        if not os.path.lexists(self.path):
            return True
        if not self.path.is_file():
            return False
        try:
            with closing(sqlite3.connect(self.path, timeout=WAIT_S)) as db:
                return bool(db.execute("SELECT 1 FROM pragma_table_info('runs')").fetchone())
        except sqlite3.Error:
            return True


def _prepare(db: sqlite3.Connection, version: int) -> None:
    if version == 1:
        with suppress(sqlite3.OperationalError):  # another process was quicker
            db.execute(_FROM_VERSION_1)
    if version < VERSION:
        db.executescript(_SCHEMA)
