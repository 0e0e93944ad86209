"""
Recover runs after a crash: finished ones are trusted, live ones left alone, lost ones concluded.

A lost run gets what its supervisor could not do any more: its strays are ended and its result says
*interrupted*, or why somebody ended it.  The lock keeps a second recoverer away, so that two of
them cannot disagree.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.files import CHILD_SESSION
from pi_subagents.core.run.liveness import Liveness
from pi_subagents.core.run.outcome import Cause, Ending, Outcome, RunFold
from pi_subagents.core.run.record import meta_from_json
from pi_subagents.core.value import replace
from pi_subagents.store import messages
from pi_subagents.store.desk import STOPPED, Desk
from pi_subagents.store.orphans import end_strays
from pi_subagents.store.rescue import standing
from pi_subagents.store.run_story import RunStory, result_by_journal
from pi_subagents.system.end_supervisor import end_supervisor
from pi_subagents.system.identity import identity_from_json, is_alive, kill_proven
from pi_subagents.system.safe_io import copy_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

# How long whoever has the lock of a lost run is waited for: ending strays may take five seconds.
TURN_LIMIT_S = 10.0
_TURN_PAUSE_S = 0.01
TIMED_OUT = "timed-out"  # and after how many seconds


def liveness_of(run_dir: RunDir, session_id: str = "") -> Liveness:
    """Tell how a run stands; the lock first, since a run may end between two looks."""
    if run_dir.alive():
        return Liveness.ALIVE
    if run_dir.read_result(session_id) is not None:
        return Liveness.FINISHED
    if _is_served_elsewhere(run_dir):
        return Liveness.ALIVE
    return Liveness.LOST if run_dir.read_result(session_id) is None else Liveness.FINISHED


def conclude_lost(run_dir: RunDir, session_id: str = "") -> RunResult | None:
    """Give a lost run its result, and return it; None if somebody else is at it."""
    if run_dir.redirected() or _is_served_elsewhere(run_dir):
        return None
    try:
        lock = run_dir.desk.take_lock()
        if lock is None:
            return None
    except OSError:
        return None
    try:
        result = _concluded(standing(run_dir), session_id)
        if result is not None:
            run_dir.desk.clear_ours()
    finally:
        os.close(lock)
    return result


def _concluded(run_dir: RunDir, session_id: str) -> RunResult | None:
    """Do so with the lock in hand, where the run is now."""
    result = run_dir.read_result(session_id)
    if result is not None:
        return result
    not_ours = run_dir.result_is_not_ours(session_id)
    if os.path.lexists(run_dir.result) and not not_ours:
        return None  # damaged, or of another version: that is not for us to replace
    left = _end_processes(run_dir)
    told = result_by_journal(run_dir, meta_from_json(_meta(run_dir))) if not_ours else None
    result = run_dir.write_result(told or _untold(run_dir, left))
    _bring_session(run_dir)
    _clean(run_dir)
    return result


def conclude_in_turn(run_dir: RunDir) -> RunResult | None:
    """Conclude a lost run; whoever has its lock, to do the same or just to look, comes first."""
    # Asked again and again, since a wait for the lock would have no end if its holder has none.
    deadline = time.monotonic() + TURN_LIMIT_S
    while (result := conclude_lost(run_dir)) is None and _may_be_held(run_dir):
        if time.monotonic() >= deadline:
            break
        time.sleep(_TURN_PAUSE_S)
    return result or run_dir.now().read_result()


def _may_be_held(run_dir: RunDir) -> bool:
    """Return whether it can only be somebody else's turn that a run was not concluded."""
    return not (
        run_dir.redirected()
        or os.path.lexists(run_dir.now().result)
        or _is_served_elsewhere(run_dir)
    )


def keep_from_beginning(run_dir: RunDir) -> bool:
    """Give a run that nobody has begun its result: it was stopped.  False if it was begun."""
    try:
        if not run_dir.desk.take_turn(STOPPED):
            return False
    except OSError:  # nobody can tell whether it was
        return False
    where = standing(run_dir)
    where.write_result(_untold(where, 0))
    return True


def put_right(run_dir: RunDir, result: RunResult) -> RunResult:
    """See that a run has the result that its supervisor told, and return it as it is kept."""
    if run_dir.now().read_result(result.session_id) == result:
        return result
    notes = [note for note in result.notes if note != messages.NOTE_NOT_KEPT]
    if len(notes) == len(result.notes):  # it was kept, and is not there any more
        notes.append(messages.NOTE_BY_CHANNEL)
    with suppress(OSError):
        lock = run_dir.desk.take_lock()
        if lock is not None:
            try:
                return standing(run_dir).write_result(replace(result, notes=tuple(notes)))
            finally:
                run_dir.desk.clear_ours()
                os.close(lock)
    if messages.NOTE_NOT_KEPT not in notes:
        notes.append(messages.NOTE_NOT_KEPT)
    return replace(result, notes=tuple(notes))


def end_unanswering(desk: Desk, cause: str) -> bool:
    """
    End the supervisor of a run that does not answer, with everything below it.

    The cause is noted first: whoever tells of the end, also after we were killed, tells it.
    False where nobody knows who that is.
    """
    supervisor = identity_from_json(desk.read_supervisor())
    if supervisor is None:
        return False
    desk.note_cause(cause)
    end_supervisor(supervisor)
    return True


def _is_served_elsewhere(run_dir: RunDir) -> bool:
    """
    Return whether a run without a desk here goes on all the same.

    Its caller may have another data directory, or the desk was taken away.  What meta.json says can
    have come from anywhere: it is believed as far as nothing is done to the run.
    """
    if os.path.lexists(run_dir.desk.path):
        return False
    meta = _meta(run_dir)
    other = Path(_text(meta, "desk"))
    if other.is_absolute() and other.name == run_dir.run_id and Desk(other).alive():
        return True
    supervisor = identity_from_json(meta.get("supervisor"))
    return supervisor is not None and is_alive(supervisor)


def _end_processes(run_dir: RunDir) -> int:
    """End what is left of the run: what carries its marker, and the child that was recorded."""
    meta = _meta(run_dir)
    child = identity_from_json(meta.get("child"))
    if child is not None:  # it may have emptied its environment
        kill_proven(child)
    # A child that served other runs before is known by the first of them.
    marker = _text(meta, "marker") or run_dir.run_id
    return end_strays(marker) + (child is not None and is_alive(child))


def _untold(run_dir: RunDir, processes_left: int) -> RunResult:
    """Return what can still be told of a run whose supervisor told nothing."""
    story = RunStory(run_dir)
    outcome = _outcome(story.fold, run_dir.desk)
    if processes_left:
        outcome = replace(outcome, notes=(*outcome.notes, messages.NOTE_PROCESSES_LEFT))
    now_ms = time.time_ns() // 1_000_000
    return story.as_result(run_dir, meta_from_json(_meta(run_dir)), outcome, now_ms)


def _outcome(fold: RunFold, desk: Desk) -> Outcome:
    """Return how a run ended that somebody ended from outside, or that was simply lost."""
    why, _, seconds = desk.cause().partition(" ")
    if why == STOPPED:
        told = fold.decide(Ending(cause=Cause.STOP_REQUESTED))
        return replace(told, notes=(*told.notes, messages.NOTE_PUT_DOWN))
    if why == TIMED_OUT:
        told = fold.decide(Ending(cause=Cause.TIMED_OUT, timeout_s=float(seconds)))
        return replace(told, notes=(*told.notes, messages.NOTE_PUT_DOWN))
    if desk.turn() == STOPPED:  # by somebody who could not say so any more
        return Outcome("aborted", error_message=run_messages.STOPPED_ON_REQUEST)
    answered = fold.answered() and fold.last is not None
    return Outcome(
        "interrupted",
        output=fold.last.text if answered and fold.last else "",
        error_message=core_messages.INTERRUPTED,
        notes=(messages.NOTE_HAD_ANSWERED,) if answered else (),
    )


def _bring_session(run_dir: RunDir) -> None:
    """Keep what the child wrote down of its session: its supervisor could not any more."""
    with suppress(OSError):
        copy_file(run_dir.desk.path / CHILD_SESSION, run_dir.child_session)


def _clean(run_dir: RunDir) -> None:
    """Take away what a killed process left half written."""
    with suppress(OSError):
        for path in run_dir.path.glob(".*.tmp"):
            path.unlink()


def _meta(run_dir: RunDir) -> Mapping[str, object]:
    try:
        return run_dir.read_meta()
    except (OSError, ValueError):
        return {}


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""
