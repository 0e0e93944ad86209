"""
Look at sessions: by id, from anywhere, running or over.

The retrieval tools and the command line read sessions through here; every look recovers first.
What only a host's own log holds (`HostHistory`) belongs to a session as well.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.record import Liveness, RunRecord
from pi_subagents.core.session.recent import MAX_SESSIONS, Session, SessionView
from pi_subagents.core.value import replace, value
from pi_subagents.errors import (
    ResumedTwice,
    ResumeNotFound,
    ResumeStillRunning,
    RunNotFound,
    RunUnreadable,
    SessionNotFound,
)
from pi_subagents.service.finding import find_run, find_session_id
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import load_record, with_messages

if TYPE_CHECKING:
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.runs import Runs

_POLL_S = 0.1

HostHistory = Callable[[str], Sequence[RunRecord]]  # the runs in a host's log, by session id


@value
class SessionList:
    """Sessions of one project, newest first, without their messages."""

    sessions: tuple[Session, ...]
    total: int  # how many there are, listed or not


def session_list(runs: Runs, *, most: int | None = MAX_SESSIONS) -> SessionList:
    """Return this project's sessions; those that run are listed even beyond the bound."""
    found: dict[str, list[RunRecord]] = {}
    for run in _known_runs(runs):
        found.setdefault(run.session_id, []).append(run)
    view = SessionView(most)
    for session in found.values():
        for run in session:
            view.register(run)
    return SessionList(tuple(view.sessions()), len(found))


def no_history(_session_id: str) -> Sequence[RunRecord]:
    """Return the history of a host that keeps no log."""
    return ()


def find_session(runs: Runs, wanted: str, history: HostHistory = no_history) -> list[RunRecord]:
    """Return a session's runs, oldest first, by any of its names; SessionNotFound if none."""
    runs.recover()
    session_id = _session_id(runs, wanted, history)
    found = []
    for run_dir in runs.of_session(session_id):
        try:
            found.append(with_messages(load_record(run_dir, liveness_of(run_dir))))
        except RunUnreadable:
            continue
    kept = {run.run_id for run in found}
    only_logged = [run for run in history(session_id) if run.run_id not in kept]
    if only_logged:
        found = sorted([*only_logged, *found], key=lambda run: run.begun_at_ms)
    if not found:
        raise SessionNotFound(wanted)
    return found


def _session_id(runs: Runs, wanted: str, history: HostHistory) -> str:
    """Return a session's id; what only the host's log knows, or nobody, stays as it was given."""
    if history(wanted):
        return wanted
    try:
        return find_session_id(runs, wanted)
    except RunNotFound:
        return wanted


def sessions_to_resume(
    runs: Runs, wanted: Iterable[str], history: HostHistory = no_history
) -> dict[str, tuple[RunRecord, ...]]:
    """Return the runs of every session that is to go on, by what it is called, or refuse all."""
    found: dict[str, tuple[RunRecord, ...]] = {}
    taken: set[str] = set()
    for name in wanted:
        try:
            found[name] = tuple(_with_origin(runs, find_session(runs, name, history)))
        except SessionNotFound as none:
            raise ResumeNotFound(name) from none
        session_id = found[name][-1].session_id
        if session_id in taken:
            raise ResumedTwice(session_id)
        taken.add(session_id)
        if any(run.tool_status == "running" for run in found[name]):
            raise ResumeStillRunning(session_id)
    return found


def session_to_fork(
    runs: Runs, wanted: str, history: HostHistory = no_history
) -> tuple[RunRecord, ...]:
    """Return the runs of a session, to the one that is meant; or refuse."""
    try:
        found = find_session(runs, wanted, history)
    except SessionNotFound as none:
        raise ResumeNotFound(wanted) from none
    with suppress(RunNotFound):
        found = _up_to(find_run(runs, wanted).run_id, found)
    if any(run.tool_status == "running" for run in found):
        raise ResumeStillRunning(found[-1].session_id)
    return tuple(_with_origin(runs, found))


def _with_origin(runs: Runs, session: list[RunRecord]) -> list[RunRecord]:
    """Return a session's runs after those that it has in common with another."""
    known = {run.run_id for run in session}
    while (origin := session[0].meta.forked_from) and origin not in known:
        try:
            session = [*_up_to(origin, find_session(runs, origin)), *session]
        except SessionNotFound:
            break
        known |= {run.run_id for run in session}
    return session


def _up_to(run_id: str, session: list[RunRecord]) -> list[RunRecord]:
    """Return the runs of a session that were there when that one ended; all, without it."""
    places = [place for place, run in enumerate(session, 1) if run.run_id == run_id]
    return session[: places[0]] if places else session


def refuse_if_resumed_elsewhere(runs: Runs, specs: Iterable[RunSpec]) -> None:
    """
    Raise ResumeStillRunning if another caller resumed one of these sessions meanwhile.

    Both have made their runs known before they look, so that at least one sees the other.
    """
    for spec in specs:
        others = (each for each in runs.of_session(spec.session_id) if each.run_id != spec.run_id)
        if any(liveness_of(each) is Liveness.ALIVE for each in others):
            raise ResumeStillRunning(spec.session_id)


async def wait_for_session(
    runs: Runs, wanted: str, seconds: float, stop: StopSwitch, history: HostHistory = no_history
) -> list[RunRecord]:
    """Return a session's runs once it is over or asks, or as they are when the time is up."""
    session_id = _session_id(runs, wanted, history)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not stop.thrown:
        directories = runs.of_session(session_id)
        alive = [each for each in directories if liveness_of(each) is Liveness.ALIVE]
        if not alive or any(each.desk.questions() for each in alive):
            break  # it is over, or somebody has to answer first
        await asyncio.sleep(_POLL_S)
    return find_session(runs, session_id, history)


def _without_output(run: RunRecord, result: RunResult) -> RunRecord:
    return replace(run, result=replace(result, output=""))


def _known_runs(runs: Runs) -> list[RunRecord]:
    """Return this project's runs that can be asked for by their session, oldest first."""
    found = [
        run if run.no_answer or run.result is None else _without_output(run, run.result)
        for run in runs.newest()
        if not isinstance(run, RunUnreadable) and run.session_id
    ]
    try:
        strange = {run_dir.run_id for run_dir in runs.unknown()}
    except (sqlite3.Error, OSError):
        strange = set()
    known = [run for run in found if run.run_id not in strange]
    return sorted(known, key=lambda run: run.begun_at_ms)
