"""
Recover runs after a crash: finished ones are trusted, live ones left alone, lost ones concluded.

A lost run gets what its supervisor could not do any more: its strays are ended and its result says
*interrupted*.  The lock keeps a second recoverer away, and a result is only ever written once, so
that two of them cannot disagree.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.liveness import Liveness
from pi_subagents.core.outcome import RunFold
from pi_subagents.core.run_result import RunResult
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.procs.identity import identity_from_json, is_alive, kill_proven
from pi_subagents.procs.strays import end_strays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.disk.run_dir import RunDir


def liveness_of(run_dir: RunDir) -> Liveness:
    """Tell how a run stands; the lock first, since a run may end between two looks."""
    if run_dir.alive():
        return Liveness.ALIVE
    return Liveness.LOST if run_dir.read_result() is None else Liveness.FINISHED


def conclude_lost(run_dir: RunDir) -> RunResult | None:
    """Give a lost run its result, and return it; None if somebody else is at it."""
    if run_dir.redirected():
        return None
    try:
        lock = os.open(run_dir.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        result = run_dir.read_result()
        if result is None:
            left = _end_processes(run_dir)
            run_dir.write_result(_interrupted(run_dir, left))
            result = run_dir.read_result()
        with suppress(OSError):
            run_dir.control.unlink()
    except BlockingIOError:
        return None
    finally:
        os.close(lock)
    return result


def _end_processes(run_dir: RunDir) -> int:
    """End what is left of the run: what carries its marker, and the child that was recorded."""
    meta = _meta(run_dir)
    child = identity_from_json(meta.get("child"))
    if child is not None:  # it may have emptied its environment
        kill_proven(child)
    # A child that served other runs before is known by the first of them.
    marker = _text(meta, "marker") or run_dir.run_id
    return end_strays(marker) + (child is not None and is_alive(child))


def _interrupted(run_dir: RunDir, processes_left: int) -> RunResult:
    meta = _meta(run_dir)
    fold, last_ms = _told_by_journal(run_dir)
    started = meta.get("startedAt")
    started_ms = started if isinstance(started, int) else 0
    answered = fold.answered() and fold.last is not None
    told = meta.get("notes")
    notes = [str(note) for note in told] if isinstance(told, list) else []
    if answered:
        notes.append(messages.NOTE_HAD_ANSWERED)
    if processes_left:
        notes.append(messages.NOTE_PROCESSES_LEFT)
    return RunResult(
        run_id=run_dir.run_id,
        session_id=_text(meta, "sessionId"),
        name=_text(meta, "name"),
        status="interrupted",
        output=fold.last.text if answered and fold.last else "",
        error_message=messages.INTERRUPTED,
        notes=tuple(notes),
        **fold.facts(),
        started_at_ms=started_ms,
        finished_at_ms=time.time_ns() // 1_000_000,
        duration_ms=max(last_ms - started_ms, 0) if started_ms else 0,
    )


def _told_by_journal(run_dir: RunDir) -> tuple[RunFold, int]:
    """Return what the journal still tells, and when it last told something."""
    fold, last_ms = RunFold(), 0
    tail = JournalTail(run_dir.events)
    try:
        for entry in tail.new_entries():
            fold.apply(entry.event)
            last_ms = entry.time_ms
    except OSError:
        pass
    finally:
        tail.close()
    return fold, last_ms


def _meta(run_dir: RunDir) -> Mapping[str, object]:
    try:
        return run_dir.read_meta()
    except (OSError, ValueError):
        return {}


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""
