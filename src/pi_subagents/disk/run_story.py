"""
What a run's own journal tells of it, where nobody else does.

In: a run directory.  Out: everything an outcome needs, or a result where the one that stands there
is none of ours.  Writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

from pi_subagents import fault_messages, messages
from pi_subagents.core import events as ev
from pi_subagents.core.outcome import Outcome, RunFold, Status
from pi_subagents.core.run_result import RunResult
from pi_subagents.disk.journal_tail import JournalTail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.disk.run_dir import RunDir


class RunStory:
    """The journal of one run, read to its end."""

    def __init__(self, run_dir: RunDir) -> None:
        self.fold = RunFold()
        self.last_ms = 0  # when it last told something
        self.status: Status | None = None  # how it ended, if it tells that
        tail = JournalTail(run_dir)
        try:
            for entry in tail.new_entries():
                self._take(entry.event)
                self.last_ms = entry.time_ms
        except OSError:
            pass  # as far as it goes
        finally:
            tail.close()

    def _take(self, event: ev.Event) -> None:
        self.fold.apply(event)
        if isinstance(event, ev.StateChanged) and event.state in get_args(Status):
            self.status = cast("Status", event.state)

    def as_result(
        self, run_dir: RunDir, meta: Mapping[str, object], outcome: Outcome, finished_ms: int
    ) -> RunResult:
        """Return what is told of a run with that outcome."""
        started = meta.get("startedAt")
        started_ms = started if isinstance(started, int) else 0
        told = meta.get("notes")
        notes = [str(note) for note in told] if isinstance(told, list) else []
        return RunResult(
            run_id=run_dir.run_id,
            session_id=_text(meta, "sessionId"),
            name=_text(meta, "name"),
            status=outcome.status,
            output=outcome.output,
            error_message=outcome.error_message,
            notes=(*notes, *outcome.notes),
            **self.fold.facts(),
            started_at_ms=started_ms,
            finished_at_ms=finished_ms,
            duration_ms=max(self.last_ms - started_ms, 0) if started_ms else 0,
        )


def result_by_journal(run_dir: RunDir, meta: Mapping[str, object]) -> RunResult | None:
    """Return how a run ended whose result is none of ours; None if its journal does not tell."""
    story = RunStory(run_dir)
    if story.status is None:
        return None
    last, note = story.fold.last, fault_messages.NOTE_BY_JOURNAL
    text = last.text if last is not None else ""
    if story.status == "completed":
        outcome = Outcome("completed", text or messages.NO_TEXT_OUTPUT, notes=(note,))
    else:
        why = {"aborted": messages.STOPPED_ON_REQUEST, "interrupted": messages.INTERRUPTED}
        failed = (last.error_message if last else "") or fault_messages.FAILED_BY_JOURNAL
        reason = why.get(story.status, failed)
        outcome = Outcome(story.status, error_message=reason, notes=(note,))
    return story.as_result(run_dir, meta, outcome, story.last_ms)


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""
