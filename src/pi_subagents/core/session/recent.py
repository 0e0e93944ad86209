"""
The sessions a host has at hand: at most 32 of them with at most 10 runs each.

In: runs as they begin and change.  Out: sessions, newest first.  What still runs always
stays: where everything runs, the view grows until something has ended.  Nothing is lost by leaving
it: a session is on disk, found by its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.usage import Usage
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

MAX_SESSIONS = 32
MAX_RUNS = 10


@value
class Session:
    """The runs under one id, oldest first, at least one; the latest speaks for it."""

    session_id: str
    runs: tuple[RunRecord, ...]

    @property
    def latest(self) -> RunRecord:
        """The run that was begun last."""
        return self.runs[-1]

    @property
    def running(self) -> bool:
        """Return whether any of its runs may still change."""
        return any(_running(run) for run in self.runs)

    @property
    def usage(self) -> Usage:
        """What all of its runs used."""
        return sum((run.usage for run in self.runs), Usage())

    def with_run(self, run: RunRecord) -> Session:
        """Return the session with a run added, or replaced where it is known already."""
        if any(_same(known, run) for known in self.runs):
            runs = tuple(run if _same(known, run) else known for known in self.runs)
        else:
            runs = (*self.runs, run)
        return Session(self.session_id, _latest_runs(runs))


class SessionView:
    """A bounded number of sessions; None for the bound means all."""

    def __init__(self, max_sessions: int | None = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._sessions: dict[str, Session] = {}

    def register(self, run: RunRecord) -> None:
        """Take in a run that begins, or that changed."""
        known = self._sessions.get(run.session_id, Session(run.session_id, ()))
        self._sessions[run.session_id] = known.with_run(run)
        self._make_room(keep=run.session_id)

    def runs(self, session_id: str) -> tuple[RunRecord, ...]:
        """Return a session's runs, oldest first; none where it is not at hand."""
        session = self._sessions.get(session_id)
        return session.runs if session else ()

    def sessions(self) -> list[Session]:
        """Return all sessions, the one with the newest run first."""
        newest_last = sorted(self._sessions.values(), key=lambda each: each.latest.begun_at_ms)
        return newest_last[::-1]

    def _make_room(self, keep: str) -> None:
        if self._max_sessions is None:
            return
        over = [s for s in self._sessions.values() if s.session_id != keep and not s.running]
        over.sort(key=lambda session: session.runs[0].begun_at_ms)
        for session in over[: max(len(self._sessions) - self._max_sessions, 0)]:
            del self._sessions[session.session_id]


def _running(run: RunRecord) -> bool:
    return run.tool_status == "running"


def _same(one: RunRecord, other: RunRecord) -> bool:
    """Return whether both are of the same run; the original's entries have no run id."""
    if one.run_id or other.run_id:
        return one.run_id == other.run_id
    return one.begun_at_ms == other.begun_at_ms != 0


def _latest_runs(runs: tuple[RunRecord, ...]) -> tuple[RunRecord, ...]:
    """Return the runs without the oldest that have ended and are over the limit."""
    over = [run for run in runs[:-1] if not _running(run)][: max(len(runs) - MAX_RUNS, 0)]
    return tuple(run for run in runs if not any(run is gone for gone in over))
