"""
What a run's own journal tells of it, where nobody else does.

In: a run directory.  Out: its state, everything an outcome needs, or a result where the one that
stands there is none of ours.  Writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.outcome import Outcome, RunFold, Status
from pi_subagents.core.run.record import PLANNED
from pi_subagents.core.run.result import RunResult
from pi_subagents.store import messages
from pi_subagents.store.journal_tail import journal_entries

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunMeta
    from pi_subagents.store.run_dir import RunDir


class RunStory:
    """The journal of one run, read to its end."""

    def __init__(self, run_dir: RunDir) -> None:
        self.fold = RunFold()
        self.last_ms = 0  # when it last told something
        self.state = PLANNED
        for entry in journal_entries(run_dir):
            self.fold.apply(entry.event)
            self.last_ms = entry.time_ms
            if isinstance(entry.event, ev.StateChanged):
                self.state = entry.event.state

    def as_result(
        self, run_dir: RunDir, meta: RunMeta, outcome: Outcome, finished_ms: int
    ) -> RunResult:
        """Return what is told of a run with that outcome."""
        started_ms = meta.started_at_ms
        return RunResult(
            run_id=run_dir.run_id,
            session_id=meta.session_id,
            name=meta.name,
            status=outcome.status,
            output=outcome.output,
            error_message=outcome.error_message,
            notes=(*meta.notes, *outcome.notes),
            **self.fold.facts(),
            started_at_ms=started_ms,
            finished_at_ms=finished_ms,
            duration_ms=max(self.last_ms - started_ms, 0) if started_ms else 0,
        )


def result_by_journal(run_dir: RunDir, meta: RunMeta) -> RunResult | None:
    """Return how a run ended whose result is none of ours; None if its journal does not tell."""
    story = RunStory(run_dir)
    if story.state not in get_args(Status):
        return None
    status = cast("Status", story.state)
    last, note = story.fold.last, messages.NOTE_BY_JOURNAL
    text = last.text if last is not None else ""
    if status == "completed":
        outcome = Outcome("completed", text or core_messages.NO_TEXT_OUTPUT, notes=(note,))
    else:
        why = {"aborted": run_messages.STOPPED_ON_REQUEST, "interrupted": core_messages.INTERRUPTED}
        failed = (last.error_message if last else "") or messages.FAILED_BY_JOURNAL
        reason = why.get(status, failed)
        outcome = Outcome(status, error_message=reason, notes=(note,))
    return story.as_result(run_dir, meta, outcome, story.last_ms)
