"""
The composition root for looking at sessions: by id, from anywhere, running or over.

The retrieval tools and the command line tell sessions through here; every look recovers first.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from typing import TYPE_CHECKING

from pi_subagents.core.liveness import Liveness
from pi_subagents.delegation.sessions import load_run
from pi_subagents.errors import RunUnreadable, SessionNotFound
from pi_subagents.procs.recovery import liveness_of

if TYPE_CHECKING:
    from pi_subagents.core.session import StoredRun
    from pi_subagents.disk.run_dir import RunDir
    from pi_subagents.runs import Runs

_POLL_S = 0.1


def find_session(runs: Runs, session_id: str) -> list[StoredRun]:
    """Return a session's runs, oldest first; SessionNotFound if there is none."""
    runs.recover()
    found = []
    for run_dir in _directories(runs, session_id):
        try:
            found.append(load_run(run_dir, liveness_of(run_dir)))
        except RunUnreadable:
            continue
    if not found:
        raise SessionNotFound(session_id)
    return found


async def wait_for_session(runs: Runs, session_id: str, seconds: float) -> list[StoredRun]:
    """Return a session's runs once it is over, or as they are when the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        directories = _directories(runs, session_id)
        if all(liveness_of(each) is not Liveness.ALIVE for each in directories):
            break
        await asyncio.sleep(_POLL_S)
    return find_session(runs, session_id)


def _directories(runs: Runs, session_id: str) -> list[RunDir]:
    try:
        rows = runs.index.of_session(session_id)
    except (sqlite3.Error, OSError):
        return []
    return [row.run_dir for row in rows if row.run_dir.path.is_dir()]
