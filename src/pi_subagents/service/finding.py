"""
Find a run by whatever somebody calls it: the one place that understands ids.

In: the id of a run or of a session, the beginning of either, the name of a task (where it has none,
how its prompt begins, as it is shown), or `last`.  Out:
the record of one run; of a session, the run that is alive, or the latest.  RunNotFound where
nothing is called so, RunAmbiguous with the candidates where several are.

Ids are found from anywhere on this machine, names among the runs of this project and the background
runs.  A whole name counts before the beginning of an id: `a` is the task that somebody named so.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.record import short_id
from pi_subagents.errors import RunAmbiguous, RunNotFound, RunUnreadable
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import load_record, planned_record
from pi_subagents.store.run_store import RUN_ID_BEGINNING
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import age

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

LAST = "last"
MAX_CANDIDATES = 10
MAX_NAME = 60
CUT = "…"


def find_run(runs: Runs, wanted: str) -> RunRecord:
    """Return the run that is called so."""
    runs.recover(thorough=True)
    chosen = _chosen(runs, wanted)
    if not chosen:
        raise RunNotFound(wanted, str(runs.store.runs_dir))
    if len(chosen) > 1:
        candidates = tuple(_candidate(each, wanted) for each in chosen[:MAX_CANDIDATES])
        raise RunAmbiguous(wanted, candidates, len(chosen))
    return _load(chosen[0])


def find_session_id(runs: Runs, wanted: str) -> str:
    """Return the id of the session that is called so, or has a run that is; RunNotFound if none."""
    return wanted if runs.of_session(wanted) else find_run(runs, wanted).session_id


def newest_known(runs: Runs) -> Iterable[RunRecord]:
    """Yield this project's runs as they were planned, newest first, without a look at any more."""
    return _readable(runs.store.runs())


def _chosen(runs: Runs, wanted: str) -> list[RunDir]:
    """Return every run that is meant, one for each session, by the first way that finds any."""
    if not wanted:
        return []
    if session := _session(runs, wanted):
        return [_speaker(session)]
    here = {run_dir.run_id: run_dir for run_dir in runs.here()}
    if wanted == LAST:
        newest = sorted(_readable(here.values()), key=_newest_first)
        return [here[record.run_id] for record in newest[:1]]
    begun = _begun(runs, wanted, here)
    if wanted in begun:
        return [begun[wanted]]
    return _named(runs, wanted, here) or sorted(begun.values(), key=lambda each: each.run_id)


def _begun(runs: Runs, beginning: str, here: dict[str, RunDir]) -> dict[str, RunDir]:
    """Return the runs whose ids begin so, and one of each session whose id does."""
    if not RUN_ID_BEGINNING.fullmatch(beginning):
        return {}
    found = {run_id: each for run_id, each in here.items() if run_id.startswith(beginning)}
    with suppress(sqlite3.Error, OSError):
        indexed = (each.now() for each in runs.index.starting_with(beginning))
        there = (each for each in indexed if each.exists() and not each.redirected())
        found |= {each.run_id: each for each in there}
        for session_id in runs.index.sessions_starting_with(beginning):
            if session := _session(runs, session_id):
                speaker = _speaker(session)
                found = {run_id: each for run_id, each in found.items() if each not in session}
                found[speaker.run_id] = speaker
    return found


def _named(runs: Runs, name: str, here: dict[str, RunDir]) -> list[RunDir]:
    """Return the runs of this project, and in the background, of tasks with that name."""
    known = dict(here)
    with suppress(sqlite3.Error, OSError):
        known |= {each.run_id: each.now() for each in runs.index.detached()}
    sessions: dict[str, list[RunDir]] = {}
    for record in sorted(_readable(known.values()), key=_newest_first, reverse=True):
        if _is_called(record, name):
            session = sessions.setdefault(record.session_id or record.run_id, [])
            session.append(known[record.run_id])
    return [_speaker(session) for session in reversed(sessions.values())]


def _is_called(record: RunRecord, name: str) -> bool:
    """Return whether a task is called so, or is shown so where it has no name; screens cut that."""
    shown = name.removesuffix(CUT)
    cut = shown not in ("", name) and record.title.startswith(shown)
    return cut or name in (record.name, record.title)


def _session(runs: Runs, session_id: str) -> list[RunDir]:
    return [each for each in runs.of_session(session_id) if not each.redirected()]


def _speaker(session: list[RunDir]) -> RunDir:
    """Return the run of a session, given from old to new, that is meant by it."""
    return next((run_dir for run_dir in reversed(session) if run_dir.alive()), session[-1])


def _readable(run_dirs: Iterable[RunDir]) -> Iterable[RunRecord]:
    for run_dir in run_dirs:
        with suppress(RunUnreadable):
            yield planned_record(run_dir)


def _newest_first(record: RunRecord) -> tuple[int, str]:
    return -record.meta.created_at_ms, record.run_id


def _load(run_dir: RunDir) -> RunRecord:
    return load_record(run_dir, liveness_of(run_dir))


def _candidate(run_dir: RunDir, wanted: str) -> tuple[str, str]:
    """Return an id with what tells one run from another."""
    try:
        run = _load(run_dir)
    except RunUnreadable:
        return run_dir.run_id, ""
    ago = age(time.time_ns() // 1_000_000 - run.meta.created_at_ms)
    by_session = run.session_id.startswith(wanted) and not run.run_id.startswith(wanted)
    session = f" (session {short_id(run.session_id)})" if by_session else ""
    return run.run_id, f"{state_of(run).word}, {ago} ago: {one_line(run.title, MAX_NAME)}{session}"
