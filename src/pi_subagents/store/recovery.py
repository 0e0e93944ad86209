"""
Recover runs after a crash: finished ones are trusted, live ones left alone, lost ones concluded.

A lost run gets what its supervisor could not do any more: its orphans are ended and its result is
*interrupted*, or why it was ended.  The lock keeps a second recoverer away, so that two of them
cannot disagree.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run.outcome import Cause, Ending, Outcome, RunFold
from pi_subagents.core.run.record import Liveness, meta_from_json
from pi_subagents.core.value import replace
from pi_subagents.store import messages
from pi_subagents.store.child_sessions import keep_session, session_limit
from pi_subagents.store.desk import STOPPED, Desk
from pi_subagents.store.orphans import end_orphans
from pi_subagents.store.rescue import ensure_dir
from pi_subagents.store.run_records import RunStory, result_from_journal
from pi_subagents.system.identity import identity_from_json, is_alive, kill_proven
from pi_subagents.system.process_tree import end_supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

# How long the holder of a lost run's lock is waited for: ending orphans may take five seconds.
TURN_LIMIT_S = 10.0
_TURN_PAUSE_S = 0.01
TIMED_OUT = "timed-out"  # and after how many seconds


def liveness_of(run_dir: RunDir, session_id: str = "") -> Liveness:
    """Return whether a run is alive; the lock first, since a run may end between two looks."""
    if run_dir.alive():
        return Liveness.ALIVE
    if run_dir.read_result(session_id) is not None:
        return Liveness.FINISHED
    if _is_served_elsewhere(run_dir):
        return Liveness.ALIVE
    return Liveness.LOST if run_dir.read_result(session_id) is None else Liveness.FINISHED


def conclude_lost(run_dir: RunDir, session_id: str = "") -> RunResult | None:
    """Give a lost run its result, and return it; None if another process, or a cluster, does."""
    if run_dir.redirected() or run_dir.desk.is_remote() or _is_served_elsewhere(run_dir):
        return None
    with _locked(run_dir) as is_ours:
        result = _concluded(ensure_dir(run_dir), session_id) if is_ours else None
        if result is not None:
            run_dir.desk.clear_ours()
    return result


@contextmanager
def _locked(run_dir: RunDir) -> Iterator[bool]:
    """Hold the lock of a run that no process answers for; yield whether that is possible."""
    lock = None
    with suppress(OSError):
        lock = run_dir.desk.acquire_lock()
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _concluded(run_dir: RunDir, session_id: str) -> RunResult | None:
    """Do so while we hold the lock, where the run is now."""
    result = run_dir.read_result(session_id)
    if result is not None:
        return result
    not_ours = run_dir.result_is_not_ours(session_id)
    if os.path.lexists(run_dir.result) and not not_ours:
        return None  # damaged, or of another version: that is not for us to replace
    left = _end_processes(run_dir)
    meta = meta_from_json(_meta(run_dir))
    journaled = result_from_journal(run_dir, meta) if not_ours else None
    result = journaled or _lost_result(run_dir, left)
    # Which its supervisor could not keep any more.
    kept = keep_session(run_dir.desk.child_session, run_dir, session_limit())
    notes = (*result.notes, *filter(None, (kept.note,)))
    result = replace(result, session_seal=kept.seal, notes=notes)
    result = run_dir.write_result(_with_changes(run_dir, result))
    remove_half_written(run_dir)
    return result


def _with_changes(run_dir: RunDir, result: RunResult) -> RunResult:
    """End the worktree of a lost run, if it had one, as its supervisor would have done."""
    data_dir = run_dir.desk.path.parent.parent
    if not any((data_dir / "workspaces").glob(f"*/runs/{run_dir.run_id}")):
        return result
    from pi_subagents.workspaces.concluding import conclude_worktree, find_worktree, noted_order

    worktree = find_worktree(data_dir, run_dir.run_id)
    if worktree is None:
        return result
    order = noted_order(worktree.desk)
    concluded = conclude_worktree(
        worktree, run_dir.path, os.environ, max_bytes=order.max_bytes, keep=order.keep
    )
    summary = concluded.changes.summary if concluded.changes else ""
    return replace(result, changes=summary, notes=(*result.notes, *concluded.notes))


def remove_half_written(run_dir: RunDir) -> None:
    """
    Remove what killed processes left half written in the directory of a run that ended.

    That its end was reported may be being noted by another process, until the note is there.
    """
    being_noted = f".{run_dir.completion.name}."
    with suppress(OSError):
        is_noted = os.path.lexists(run_dir.completion)
        for path in run_dir.path.glob(".*.tmp"):
            if is_noted or not path.name.startswith(being_noted):
                path.unlink(missing_ok=True)


def conclude_in_turn(run_dir: RunDir) -> RunResult | None:
    """Conclude a lost run; a process that has its lock, to do the same or to look, comes first."""
    # Tried again and again, since a wait for the lock would have no end if its holder has none.
    deadline = time.monotonic() + TURN_LIMIT_S
    while (result := conclude_lost(run_dir)) is None and _may_be_held(run_dir):
        if time.monotonic() >= deadline:
            break
        time.sleep(_TURN_PAUSE_S)
    return result or run_dir.now().read_result()


def _may_be_held(run_dir: RunDir) -> bool:
    """Return whether only another holder of the lock can be why a run was not concluded."""
    return not (
        run_dir.redirected()
        or run_dir.desk.is_remote()
        or os.path.lexists(run_dir.now().result)
        or _is_served_elsewhere(run_dir)
    )


def stop_before_start(run_dir: RunDir) -> bool:
    """Give a run that has not begun its result: it was stopped.  False if it has begun."""
    try:
        if not run_dir.desk.take_turn(STOPPED):
            return False
    except OSError:  # nothing shows whether it has
        return False
    where = ensure_dir(run_dir)
    where.write_result(_lost_result(where, 0))
    return True


def restore_result(run_dir: RunDir, result: RunResult) -> RunResult:
    """Ensure that a run has the result that its supervisor handed over; return it as it is kept."""
    if run_dir.now().read_result(result.session_id) == result:
        return result
    notes = [note for note in result.notes if note != messages.NOTE_NOT_KEPT]
    if len(notes) == len(result.notes):  # it was kept, and is not there any more
        notes.append(messages.NOTE_BY_CHANNEL)
    with suppress(OSError), _locked(run_dir) as is_ours:
        if is_ours:
            try:
                return ensure_dir(run_dir).write_result(replace(result, notes=tuple(notes)))
            finally:
                run_dir.desk.clear_ours()
    if messages.NOTE_NOT_KEPT not in notes:
        notes.append(messages.NOTE_NOT_KEPT)
    return replace(result, notes=tuple(notes))


def end_unresponsive(desk: Desk, cause: str) -> bool:
    """
    End the supervisor of a run that does not answer, with everything below it.

    The cause is noted first, for the process that concludes the run, also after we were killed.
    False where it is not known which process that is.
    """
    supervisor = identity_from_json(desk.read_supervisor())
    if supervisor is None:
        return False
    desk.note_cause(cause)
    end_supervisor(supervisor)
    return True


def _is_served_elsewhere(run_dir: RunDir) -> bool:
    """
    Return whether a run without a desk here is active all the same.

    Its caller may have another data directory, or the desk was removed.  What meta.json holds can
    have come from anywhere: it is trusted as far as nothing is done to the run.
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
    return end_orphans(marker) + (child is not None and is_alive(child))


def _lost_result(run_dir: RunDir, processes_left: int) -> RunResult:
    """Return what is still known of a run whose supervisor left no result."""
    story = RunStory(run_dir)
    outcome = _outcome(story.fold, run_dir.desk)
    if processes_left:
        outcome = replace(outcome, notes=(*outcome.notes, messages.NOTE_PROCESSES_LEFT))
    now_ms = time.time_ns() // 1_000_000
    return story.as_result(run_dir, meta_from_json(_meta(run_dir)), outcome, now_ms)


def _outcome(fold: RunFold, desk: Desk) -> Outcome:
    """Return how a run ended that was ended from outside, or that was simply lost."""
    why, _, seconds = desk.cause().partition(" ")
    if why in (STOPPED, TIMED_OUT):
        cause = Cause.STOP_REQUESTED if why == STOPPED else Cause.TIMED_OUT
        ended = fold.decide(Ending(cause=cause, timeout_s=float(seconds) if seconds else None))
        return replace(ended, notes=(*ended.notes, messages.NOTE_PUT_DOWN))
    if desk.turn() == STOPPED:  # by a process that could not write the result any more
        return Outcome("aborted", fold.said, core_messages.STOPPED_ON_REQUEST)
    answer = fold.given.text if fold.given else ""
    return Outcome(
        "interrupted",
        fold.said or answer,
        core_messages.INTERRUPTED,
        notes=(messages.NOTE_HAD_ANSWERED,) if answer or fold.answered() else (),
    )


def _meta(run_dir: RunDir) -> Mapping[str, object]:
    try:
        return run_dir.read_meta()
    except (OSError, ValueError):
        return {}


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""
