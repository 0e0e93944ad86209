"""
Read a run's record from its directory: what was asked, what it is doing, or how it ended.

In: a run directory and its liveness, already proven.  Out: a RunRecord, without the run's messages
unless they are asked for; where the supervisor left no result of its own, what the journal has.
Writes nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Outcome, RunFold, Status
from pi_subagents.core.run.record import PLANNED, Liveness, RunProgress, RunRecord, meta_from_json
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session.history import keep_messages
from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.store import messages
from pi_subagents.store.desk import Desk
from pi_subagents.store.remote.note import read_wait
from pi_subagents.store.run_dir import MAX_RESULT_BYTES, RunDir
from pi_subagents.store.tails import journal_entries
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.core.run.record import RunMeta

MAX_PROMPT_BYTES = 64 * 1024 * 1024


def load_record(run_dir: RunDir, liveness: Liveness) -> RunRecord:
    """Return what is known of a run; RunUnreadable where nothing is."""
    record = planned_record(run_dir)
    meta, alive = record.meta, liveness is Liveness.ALIVE
    # The process that answers for a run writes its result last: an earlier one is not its own.
    active = alive and not run_dir.never_began()
    result = None if active else _result(run_dir, meta)
    if result is not None:
        return replace(record, result=result)
    story, started_ms = RunStory(run_dir), meta.started_at_ms
    state = story.state
    if state == PLANNED and started_ms:
        state = "running"  # its journal was taken away
    now_ms = time.time_ns() // 1_000_000
    return replace(
        record,
        progress=RunProgress(state, story.fold.usage),
        lost=not alive,
        elapsed_ms=max(now_ms - started_ms, 0) if alive and started_ms else 0,
        waiting_for=what_it_waits_for(run_dir) if alive else None,
    )


def planned_record(run_dir: RunDir) -> RunRecord:
    """Return what was known of a run before it began; RunUnreadable where nothing is."""
    try:
        meta = meta_from_json(run_dir.read_meta())
    except (OSError, ValueError) as error:
        raise RunUnreadable(run_dir.run_id, str(error)) from error
    return RunRecord(run_dir.run_id, meta, path=str(run_dir.path), desk=str(run_dir.desk.path))


def what_it_waits_for(run_dir: RunDir) -> WaitingFor | None:
    """Return what it waits for first: from the desk, which a project cannot forge."""
    desk = run_dir.desk
    waits = desk.waits() or (read_wait(desk) if desk.is_remote() else ())
    return next(iter(waits), None)


def with_messages(record: RunRecord) -> RunRecord:
    """Return the record with the messages of the run, and all of its task."""
    run_dir = directory_of(record)
    kept = keep_messages(entry.event for entry in journal_entries(run_dir))
    was_asked = any(isinstance(each, ev.UserMessage) for each in kept)
    task = ""
    for path in (run_dir.task,) if was_asked else (run_dir.prompt, run_dir.task):
        with suppress(OSError):
            task = safe_io.read_bounded(path, MAX_PROMPT_BYTES).decode("utf-8", "replace")
    if task and kept and isinstance(kept[0], ev.UserMessage):
        kept = (ev.UserMessage(task), *kept[1:])  # without what it was shown of earlier runs
    return replace(record, meta=replace(record.meta, task=task or record.meta.task), messages=kept)


def directory_of(record: RunRecord) -> RunDir:
    """Return where a run is kept whose record was read from there."""
    return RunDir(Path(record.path), Desk(Path(record.desk)))


class RunStory:
    """The journal of one run, read to its end."""

    def __init__(self, run_dir: RunDir) -> None:
        self.fold = RunFold()
        self.last_ms = 0  # when its last entry was made
        self.state = PLANNED
        for entry in journal_entries(run_dir):
            self.fold.apply(entry.event)
            self.last_ms = entry.time_ms
            if isinstance(entry.event, ev.StateChanged):
                self.state = entry.event.state

    def as_result(
        self, run_dir: RunDir, meta: RunMeta, outcome: Outcome, finished_ms: int
    ) -> RunResult:
        """Return the result of a run with that outcome."""
        started_ms = meta.started_at_ms
        return RunResult(
            run_id=run_dir.run_id,
            session_id=meta.session_id,
            name=meta.name,
            status=outcome.status,
            output=outcome.output,
            error_message=outcome.error_message,
            notes=(*meta.notes, *outcome.notes),
            resumed=meta.resumed,
            **self.fold.facts(),
            started_at_ms=started_ms,
            finished_at_ms=finished_ms,
            duration_ms=max(self.last_ms - started_ms, 0) if started_ms else 0,
        )


def result_from_journal(run_dir: RunDir, meta: RunMeta) -> RunResult | None:
    """Return how a run ended whose result is not ours; None if its journal has no end."""
    story = RunStory(run_dir)
    if story.state not in get_args(Status):
        return None
    status = cast("Status", story.state)
    last, notes = story.fold.last, (messages.NOTE_BY_JOURNAL,)
    if status == "completed":
        given = story.fold.given.text if story.fold.given else ""
        text = (last.text if last is not None else "") or given
        outcome = Outcome("completed", text or core_messages.NO_TEXT_OUTPUT, notes=notes)
    else:
        why = {
            "aborted": core_messages.STOPPED_ON_REQUEST,
            "interrupted": core_messages.INTERRUPTED,
        }
        failed = (last.error_message if last else "") or messages.FAILED_BY_JOURNAL
        outcome = Outcome(status, story.fold.said, why.get(status, failed), notes)
    return story.as_result(run_dir, meta, outcome, story.last_ms)


def _result(run_dir: RunDir, meta: RunMeta) -> RunResult | None:
    """Return how a run ended, None if that is not known; RunUnreadable where it cannot be read."""
    for _ in range(2):  # it may come this instant: then it is neither damaged nor lost
        if (result := run_dir.read_result(meta.session_id)) is not None:
            return result
        if not os.path.lexists(run_dir.result):
            return None
    if run_dir.result_is_not_ours(meta.session_id):
        return result_from_journal(run_dir, meta)
    name = run_dir.result.name
    try:
        safe_io.read_bounded(run_dir.result, MAX_RESULT_BYTES)
    except OSError as error:
        raise RunUnreadable(run_dir.run_id, f"{name}: {error.strerror or error}") from error
    raise RunUnreadable(run_dir.run_id, f"{name} is damaged or of another version")
