"""
How a run goes on with a session: in a copy of the child's own, or from what was stored of it.

In: the runs of the session, and where the new run is to work.  Out: what its order says, the copy
for its desk, and notes.  The copy is of the last run that did anything; whatever is wrong with its
file, its prompt begins with what happened, and the reason is in its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import NATIVE, REPLAY, ResumeOrder
from pi_subagents.core.value import value
from pi_subagents.service import messages
from pi_subagents.store.child_sessions import read_session, session_limit
from pi_subagents.store.run_records import directory_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.settings import Settings
    from pi_subagents.engines.base import ContinuedSession, EngineCall


@value
class Past:
    """How a run goes on; a new session's does not."""

    order: ResumeOrder = ResumeOrder()
    session: bytes | None = None  # for its desk
    notes: tuple[str, ...] = ()


def past_of(
    earlier: Sequence[RunRecord], cwd: Path, engine: EngineCall, settings: Settings
) -> Past:
    """Return how a run of the engine in that directory goes on with these, the oldest first."""
    if settings.resume == REPLAY:
        return retold(earlier)
    limit = session_limit(int(settings.max_run_megabytes * 1024 * 1024))
    try:
        found = _continued(earlier, cwd, engine, limit)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else ""
        return retold(earlier, reason or str(problem))
    moved = found.moved_from
    return Past(
        ResumeOrder(NATIVE, model=earlier[-1].model),
        found.content,
        (messages.note_session_moved(moved, str(cwd)),) if moved else (),
    )


def retold(earlier: Sequence[RunRecord], why: str = "") -> Past:
    """Return that the prompt begins with these, and why where that is not what was wanted."""
    note = messages.note_retold(why) if why else ""
    return Past(ResumeOrder(REPLAY, why=note, model=earlier[-1].model))


def _continued(
    earlier: Sequence[RunRecord], cwd: Path, engine: EngineCall, limit: int
) -> ContinuedSession:
    """Return the session of the last run that did anything; OSError or ValueError without one."""
    for run in reversed(earlier):
        try:
            return _session_of(run, cwd, engine, limit)
        except (OSError, ValueError):
            if run.messages or run is earlier[0]:
                raise
    raise AssertionError


def _session_of(run: RunRecord, cwd: Path, engine: EngineCall, limit: int) -> ContinuedSession:
    if run.meta.engine and run.meta.engine != engine.name:
        raise ValueError(messages.session_of_other_engine(run.meta.engine))
    if run.result is None or not run.result.session_seal or not engine.capabilities.native_resume:
        raise ValueError(messages.SESSION_NOT_KEPT)
    content = read_session(directory_of(run), run.result.session_seal, limit)
    return engine.continue_session(content, str(cwd))
