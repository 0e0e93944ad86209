"""
The ledger: what every run used, by local day, project, profile and model.

One row per run, by its id: to note a run again changes nothing.  It is noted by whoever finds that
it has ended, its caller or the next look, and only then the index has it as ended: a process that
is killed in between leaves it to the next one, and a supervisor starts no slower.

A ledger that does not exist yet begins with all runs that are there.  One that was lost, or is made
anew because it was damaged, lacks those that were removed since: it says that it is incomplete.
Nothing waits for the disk: after a start of the machine all runs that are there are counted again,
as a power cut may have taken what was noted last.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pi_subagents.core.run.record import meta_from_json
from pi_subagents.core.spending.budget import Spending, spending_of
from pi_subagents.core.value import as_dict, value
from pi_subagents.errors import LedgerDamaged
from pi_subagents.store import messages
from pi_subagents.store.sqlite_file import SqliteFile, is_busy
from pi_subagents.system.home import PROJECT_RUNS
from pi_subagents.system.identity import boot_id
from pi_subagents.system.safe_io import write_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

T = TypeVar("T")
FILE_NAME = "ledger.sqlite3"
BEGUN = "ledger.begun"  # a file that outlives the ledger, and shows that there was one
WAYS = ("day", "project", "profile", "model")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY,
    day TEXT NOT NULL,
    project TEXT NOT NULL,
    profile TEXT NOT NULL,
    model TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    total_tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_day ON runs (day, project);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, fact TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
"""
_VERSION = 1
_LAST_MS = 253_402_214_400_000  # of the years that are written with four digits
_FILLED, _INCOMPLETE = "filled", "incomplete"
# The name of a directory need not be UTF-8.
_INSERT = (
    "INSERT OR REPLACE INTO runs VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), "
    "CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?)"
)


@value
class LedgerRow:
    """One run: the day on which it began, and the tokens that budgets count beside all of them."""

    run_id: str
    day: str
    project: str
    profile: str
    model: str
    tokens: int
    cost: float
    total_tokens: int


@value
class Total:
    """What several runs came to that have a day, project, profile or model in common."""

    name: str
    runs: int
    tokens: int
    cost: float
    total_tokens: int


def day_of(time_ms: int) -> str:
    """Return the local day of a moment."""
    return time.strftime("%Y-%m-%d", time.localtime(time_ms / 1000))


def row_of(run_dir: RunDir) -> LedgerRow | None:
    """Return what a run that has ended used; None where that cannot be read."""
    result = run_dir.read_result()
    try:
        meta = meta_from_json(run_dir.read_meta())
    except (OSError, ValueError):
        meta = None
    if result is None or meta is None:
        return None
    # A result is in its project, where any task can write: not every number is a time.
    times = (result.started_at_ms, meta.created_at_ms, result.finished_at_ms)
    began = next((each for each in times if 0 < each < _LAST_MS), 0)
    spent = spending_of(result.usage)
    return LedgerRow(
        run_id=run_dir.run_id,
        day=day_of(began),
        project=meta.project or _project(run_dir.path) or meta.cwd,
        profile=meta.profile or meta.preset,
        model="/".join(filter(None, (result.provider, result.model))),
        tokens=spent.tokens,
        cost=spent.cost,
        total_tokens=result.usage.total_tokens,
    )


def _project(path: Path) -> str:
    """Return the project of a run by where it is kept, if it is kept there."""
    above = path.parts[:-1]
    inside = above[-len(PROJECT_RUNS) :] == tuple(PROJECT_RUNS)
    return str(path.parents[len(PROJECT_RUNS)]) if inside else ""


class _NotFilledError(Exception):
    """The ledger, or the start of the machine, is new: the runs have to be counted first."""


class Ledger:
    """The ledger of one user; `known` returns the runs that there are, should it have none."""

    def __init__(self, data_dir: Path, known: Callable[[], Iterable[RunDir]]) -> None:
        self.path = data_dir / FILE_NAME
        self._begun = data_dir / BEGUN
        self._known = known
        self._file = SqliteFile(self.path, _prepare, durable=False)

    def note(self, ended: Iterable[RunDir]) -> None:
        """
        Count runs that have ended; sqlite3.Error or OSError where they have to be noted later.

        A damaged ledger is left alone: it is made anew from the same runs.
        """
        rows = [row for each in ended if (row := row_of(each)) is not None]
        if rows:
            with suppress(LedgerDamaged):
                self._use(lambda db: _insert(db, rows))

    def spent_on(self, day: str, project: str = "") -> Spending:
        """Return what was spent on a day, in one project or in all; LedgerDamaged if unknown."""
        query = (
            "SELECT total(tokens), total(cost) FROM runs "
            "WHERE day = ? AND CAST(? AS TEXT) IN ('', project)"
        )
        found = self._use(lambda db: db.execute(query, (day, _stored(project))).fetchone())
        return Spending(int(found[0]), float(found[1]))

    def totals(self, way: str) -> list[Total]:
        """Return the sums by day, project, profile or model: days by date, others by tokens."""
        order = "1" if way == "day" else "3 DESC, 1"
        query = (
            f"SELECT {WAYS[WAYS.index(way)]}, count(*), sum(tokens), total(cost), "  # noqa: S608 - a constant
            f"sum(total_tokens) FROM runs GROUP BY 1 ORDER BY {order}"
        )
        return [Total(*row) for row in self._use(lambda db: db.execute(query).fetchall())]

    def incomplete_since(self) -> str:
        """Return the day before which runs may be missing; nothing where none are."""
        return self._use(lambda db: _fact(db, _INCOMPLETE))

    def rebuild(self) -> None:
        """Make it anew from the runs that still exist."""
        self._file.put_aside()
        self._begin()

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            try:
                return self._file.use(partial(_if_filled, work))
            except _NotFilledError:
                self._begin()
            return self._file.use(work)
        except sqlite3.OperationalError as error:  # busy, full, not writable: not to blame
            if is_busy(error) or "no such" not in str(error):
                raise
            raise LedgerDamaged(str(self.path), str(error)) from error
        except sqlite3.DatabaseError as error:
            raise LedgerDamaged(str(self.path), str(error)) from error

    def _begin(self) -> None:
        """Begin with the runs that there are; several processes may do so at once."""
        was_there = self._begun.exists()
        rows = [row for each in self._known() if (row := row_of(each.now())) is not None]

        def fill(db: sqlite3.Connection) -> None:
            _insert(db, rows)
            if was_there and not _fact(db, _FILLED):
                today = day_of(time.time_ns() // 1_000_000)
                db.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (_INCOMPLETE, today))
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (_FILLED, _this_boot()))

        self._file.use(fill)
        write_once(self._begun, b"")


def _prepare(db: sqlite3.Connection, version: int) -> None:
    if version > _VERSION:
        raise sqlite3.DatabaseError(messages.LEDGER_IS_NEWER)
    if not version:
        db.executescript(_SCHEMA)


def _if_filled(work: Callable[[sqlite3.Connection], T], db: sqlite3.Connection) -> T:
    if _fact(db, _FILLED) != _this_boot():
        raise _NotFilledError
    return work(db)


def _this_boot() -> str:
    return boot_id() or "unknown"


def _fact(db: sqlite3.Connection, name: str) -> str:
    found = db.execute("SELECT fact FROM facts WHERE name = ?", (name,)).fetchone()
    return str(found[0]) if found else ""


def _insert(db: sqlite3.Connection, rows: Iterable[LedgerRow]) -> None:
    db.executemany(_INSERT, [tuple(map(_stored, as_dict(row).values())) for row in rows])


def _stored(fact: object) -> object:
    """Return the bytes of a name (half a character, which JSON can have, is none), or a number."""
    if not isinstance(fact, str):
        return fact
    try:
        return os.fsencode(fact)
    except UnicodeEncodeError:
        return fact.encode("utf-8", "replace")
