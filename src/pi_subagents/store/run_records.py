"""
Read a run's record from its directory: what was asked, what it is doing, or how it ended.

In: a run directory and its liveness, which somebody proved.  Out: a RunRecord, without the run's
messages unless they are asked for.  Writes nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.liveness import Liveness
from pi_subagents.core.run.record import PLANNED, RunRecord, Told, meta_from_json
from pi_subagents.core.session.history import keep_messages
from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.store.desk import Desk
from pi_subagents.store.journal_tail import journal_entries
from pi_subagents.store.run_dir import MAX_RESULT_BYTES, RunDir
from pi_subagents.store.run_story import RunStory, result_by_journal
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunMeta
    from pi_subagents.core.run.result import RunResult

MAX_PROMPT_BYTES = 64 * 1024 * 1024


def load_record(run_dir: RunDir, liveness: Liveness) -> RunRecord:
    """Return what can be told of a run; RunUnreadable where nothing can."""
    record = asked_record(run_dir)
    meta, alive = record.meta, liveness is Liveness.ALIVE
    # Whoever answers for the run writes its result last: what is there before is somebody else's.
    goes_on = alive and not run_dir.never_began()
    result = None if goes_on else _result(run_dir, meta)
    if result is not None:
        return replace(record, result=result)
    story, started_ms = RunStory(run_dir), meta.started_at_ms
    state = story.state
    if state == PLANNED and started_ms:
        state = "running"  # its journal was taken away
    now_ms = time.time_ns() // 1_000_000
    return replace(
        record,
        told=Told(state, story.fold.usage),
        lost=not alive,
        elapsed_ms=max(now_ms - started_ms, 0) if alive and started_ms else 0,
    )


def asked_record(run_dir: RunDir) -> RunRecord:
    """Return what was known of a run before it began; RunUnreadable where nothing is."""
    try:
        meta = meta_from_json(run_dir.read_meta())
    except (OSError, ValueError) as error:
        raise RunUnreadable(run_dir.run_id, str(error)) from error
    return RunRecord(run_dir.run_id, meta, path=str(run_dir.path), desk=str(run_dir.desk.path))


def with_messages(record: RunRecord) -> RunRecord:
    """Return the record with what was said in the run, and all of its task."""
    run_dir = directory_of(record)
    messages = keep_messages(entry.event for entry in journal_entries(run_dir))
    asked_at_all = any(isinstance(each, ev.UserMessage) for each in messages)
    task = _task(run_dir, asked_at_all=asked_at_all)
    if task and messages and isinstance(messages[0], ev.UserMessage):
        messages = (ev.UserMessage(task), *messages[1:])  # without what was told of earlier runs
    return replace(
        record,
        meta=replace(record.meta, task=task or record.meta.task),
        messages=messages,
    )


def directory_of(record: RunRecord) -> RunDir:
    """Return where a run is kept whose record was read from there."""
    return RunDir(Path(record.path), Desk(Path(record.desk)))


def _result(run_dir: RunDir, meta: RunMeta) -> RunResult | None:
    """Return how a run ended, None if nobody has told; RunUnreadable where that cannot be read."""
    for _ in range(2):  # it may come this instant: then it is neither damaged nor lost
        if (result := run_dir.read_result(meta.session_id)) is not None:
            return result
        if not os.path.lexists(run_dir.result):
            return None
    if not run_dir.result_is_not_ours(meta.session_id):
        raise RunUnreadable(run_dir.run_id, _why_not_readable(run_dir.result))
    return result_by_journal(run_dir, meta)


def _why_not_readable(result: Path) -> str:
    """Return what keeps a result from being read: the system, or what is in it."""
    try:
        safe_io.read_bounded(result, MAX_RESULT_BYTES)
    except OSError as error:
        return f"{result.name}: {error.strerror or error}"
    return f"{result.name} is damaged or of another version"


def _task(run_dir: RunDir, *, asked_at_all: bool) -> str:
    """Return what was asked of the run, where its messages do not say it, or say more."""
    for path in (run_dir.task,) if asked_at_all else (run_dir.task, run_dir.prompt):
        with suppress(OSError):
            return safe_io.read_bounded(path, MAX_PROMPT_BYTES).decode("utf-8", "replace")
    return ""
