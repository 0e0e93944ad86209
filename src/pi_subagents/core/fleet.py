"""
All runs at a glance: rows, which of them are wanted, how they are grouped, what they add up to.

In: rows in any order, what somebody looks for, when today began.  Out: groups of one session each,
totals, JSON.  Rows hold little: their texts are cut, so that thousands of them fit in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pi_subagents.core.outcome import Status
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.usage import Usage, usage_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TEXT = 200
LEAST_OF_AN_ID = 4
ENDED = get_args(Status)
# Somebody asked for the end of an aborted run: that is no failure of it.
FAILURES = ("failed", "interrupted")

Which = Literal["all", "active", "completed", "failed"]
WHICH: tuple[Which, ...] = get_args(Which)


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One run as a list shows it; a time of 0 has not come yet."""

    run_id: str
    session_id: str
    name: str
    status: str
    path: str  # of its directory
    cwd: str = ""
    kind: str = ""  # the profile or preset it runs with
    model: str = ""
    background: bool = False
    created_at_ms: int = 0
    started_at_ms: int = 0
    finished_at_ms: int = 0
    last_line: str = ""  # what it does, answered, or failed with
    usage: Usage = Usage()

    @property
    def active(self) -> bool:
        """Tell whether the run may still change."""
        return self.status not in ENDED


@dataclass(frozen=True, slots=True)
class SessionGroup:
    """The runs of one session, newest first; never none."""

    session_id: str
    rows: tuple[FleetRow, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for: words that must all occur, and how the run stands."""

    text: str = ""
    which: Which = "all"

    def takes(self, row: FleetRow) -> bool:
        """Tell whether a row is wanted."""
        if not _stands(row, self.which):
            return False
        words = self.text.casefold().split()
        if not words:
            return True
        told = (row.name, row.status, row.model, row.kind, row.last_line, row.cwd)
        searched = "\n".join(told).casefold()
        return all(word in searched or _begins_an_id(row, word) for word in words)


@dataclass(frozen=True, slots=True)
class Totals:
    """What all rows add up to, wanted or not; what is active counts as today's."""

    running: int = 0
    waiting: int = 0
    finished: int = 0
    failed: int = 0
    usage: Usage = Usage()


def arranged(rows: Iterable[FleetRow], wanted: Wanted) -> tuple[SessionGroup, ...]:
    """Return the wanted rows by session: work under way first, the newest of it on top."""
    sessions: dict[str, list[FleetRow]] = {}
    for row in rows:
        if wanted.takes(row):
            # A run without a session, from another time, is alone.
            sessions.setdefault(row.session_id or row.run_id, []).append(row)
    groups = [
        SessionGroup(session_id, tuple(sorted(found, key=_newest_first)))
        for session_id, found in sessions.items()
    ]
    return tuple(sorted(groups, key=_most_urgent_first))


def totals(rows: Iterable[FleetRow], today_ms: int) -> Totals:
    """Add up the rows; what is at work counts as today's, whenever it began."""
    running = waiting = finished = failed = 0
    usage = Usage()
    for row in rows:
        if row.active:
            waiting += row.status == "planned"
            running += row.status != "planned"
        elif row.finished_at_ms >= today_ms:
            finished += 1
            failed += row.status in FAILURES
        else:
            continue
        usage += row.usage
    return Totals(running, waiting, finished, failed, usage)


def cut(text: str) -> str:
    """Return a text as a row keeps it."""
    return one_line(text, MAX_TEXT)


def last_line_of(text: str) -> str:
    """Return the last line of a text that says something, as a row keeps it."""
    for line in reversed(text.rstrip().rsplit("\n", maxsplit=8)):
        if said := cut(line):
            return said
    return ""


def row_to_json(row: FleetRow) -> dict[str, object]:
    """Return one row for a script or a page."""
    return {
        "runId": row.run_id,
        "sessionId": row.session_id,
        "name": row.name,
        "status": row.status,
        "active": row.active,
        "kind": row.kind or None,
        "model": row.model or None,
        "background": row.background,
        "createdAt": row.created_at_ms,
        "startedAt": row.started_at_ms or None,
        "finishedAt": row.finished_at_ms or None,
        "lastLine": row.last_line,
        "usage": usage_to_json(row.usage),
        "cwd": row.cwd,
        "path": row.path,
    }


def totals_to_json(found: Totals) -> dict[str, object]:
    """Return the totals for a script or a page."""
    return {
        "running": found.running,
        "waiting": found.waiting,
        "finishedToday": found.finished,
        "failedToday": found.failed,
        "usageToday": usage_to_json(found.usage),
    }


def _begins_an_id(row: FleetRow, word: str) -> bool:
    """Tell whether a word is meant for an id: fewer characters begin one by chance."""
    ids = (row.run_id, row.session_id)
    return len(word) >= LEAST_OF_AN_ID and any(each.startswith(word) for each in ids)


def _stands(row: FleetRow, which: Which) -> bool:
    match which:
        case "all":
            return True
        case "active":
            return row.active
        case "completed":
            return row.status == "completed"
        case "failed":
            return not row.active and row.status != "completed"


def _newest_first(row: FleetRow) -> tuple[int, str]:
    return -row.created_at_ms, row.run_id


def _most_urgent_first(group: SessionGroup) -> tuple[int, int, str]:
    """Sort what is at work before what waits its turn, and that before what is over."""
    active = [row for row in group.rows if row.active]
    if active:
        # They stay where they are while they work.
        rank = 0 if any(row.status != "planned" for row in active) else 1
        latest = max(row.created_at_ms for row in active)
    else:
        rank = 2
        latest = max(max(row.finished_at_ms, row.created_at_ms) for row in group.rows)
    return rank, -latest, group.session_id
