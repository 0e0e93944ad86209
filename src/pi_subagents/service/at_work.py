"""
The runs at work that concern a host: those of its project, and those that it began elsewhere.

In: the host's runs, and the ids of those it knows of.  Out: records, the oldest first, each with
the line that says what it does now.  Every look recovers first.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.service.fleet import LiveRun
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import load_record, with_messages

if TYPE_CHECKING:
    from collections.abc import Container

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir


def runs_at_work(runs: Runs, known: Container[str] = ()) -> list[RunRecord]:
    """Return every run of the project that is active, and those that are known."""
    runs.recover(thorough=True)
    found: list[RunRecord] = []
    with suppress(sqlite3.Error, OSError):
        for noted in runs.index.not_ended():
            is_here = noted.path.parent == runs.store.runs_dir
            if is_here or noted.run_id in known:
                with suppress(RunUnreadable):
                    found.append(_record(noted.now()))
    return [run for run in found if run.active]


def with_whole_task(runs: Runs, run: RunRecord) -> RunRecord:
    """Return a run as it stands now, with all of its task."""
    return with_messages(runs.find(run.run_id))


def _record(run_dir: RunDir) -> RunRecord:
    record = load_record(run_dir, liveness_of(run_dir))
    if not record.active:
        return record
    live = LiveRun(run_dir)
    try:
        last_line = live.record().progress.last_line
    finally:
        live.close()
    return replace(record, progress=replace(record.progress, last_line=last_line))
