"""
What sub-agents did, to be passed on to somebody else: a value, and as JSON.

In: records and what is beside them, already without secrets.  Out: a WorkReport, from which every
form of it is written; none names a directory of a run or a process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.result import work_to_json
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.core.value import as_dict, value
from pi_subagents.view.amounts import marked, money
from pi_subagents.view.failure import ending_lines
from pi_subagents.view.time_spent import part_length
from pi_subagents.view.timeline import timeline_to_json

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.timeline import Bar, Timeline

KIND = "pi-subagents report"  # by which a file is known as one of ours
SCHEMA_VERSION = 1
MAX_PATCH = 512 * 1024  # characters of the changes of one run


@value
class ReportedRun:
    """One run by its record, with what is beside it."""

    record: RunRecord
    task: str
    bar: Bar
    patch: str = ""
    patch_left_out: int = 0  # characters

    @property
    def answer(self) -> str:
        """What it answered, with its value; nothing as long as it has not ended."""
        return self.record.result.answer if self.record.result else ""

    @property
    def problems(self) -> tuple[str, ...]:
        """Why it failed, and what to do about it."""
        return ending_lines(self.record.error_message)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is said of it."""
        return ending_lines("", self.record.result.notes) if self.record.result else ()

    @property
    def check(self) -> str:
        """The command that checked its work, if one did."""
        checked = self.record.result.checked if self.record.result else None
        return checked.command if checked else ""

    @property
    def cost(self) -> str:
        """What it cost, as people read it; nothing where nobody knows a price."""
        return money(self.record.usage.cost) if self.record.usage.cost else ""

    @property
    def tokens(self) -> str:
        """The tokens it used, as people read them, marked where they are a great many."""
        usage = self.record.usage
        return marked(f"{usage.total_tokens:,}", usage) if usage.total_tokens else ""

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of it in a word each."""
        used = f"{self.tokens} tokens" if self.tokens else ""
        run, took = self.record, part_length(self.record.duration_ms)
        known = (run.kind, run.model_used, took, used, self.cost, run.work)
        return tuple(filter(None, known))


@value
class WorkReport:
    """Runs with what they did, by when they began."""

    runs: tuple[ReportedRun, ...]
    timelines: tuple[Timeline, ...]
    made_at_ms: int
    made_by: str
    problems: tuple[str, ...] = ()  # what could not be read

    @property
    def usage(self) -> Usage:
        """What all of them used together."""
        return sum((run.record.usage for run in self.runs), Usage())

    @property
    def title(self) -> str:
        """What it is about, on one line."""
        count = len(self.runs)
        return self.runs[0].record.title if count == 1 else f"{count} sub-agents"

    @property
    def facts(self) -> tuple[str, ...]:
        """What is known of all of them, in a few words each."""
        words: dict[str, int] = {}
        for run in self.runs:
            words[run.bar.state.word] = words.get(run.bar.state.word, 0) + 1
        took = max((each.end_ms for each in self.timelines), default=0) - min(
            (each.begin_ms for each in self.timelines), default=0
        )
        tokens, cost = self.usage.total_tokens, self.usage.cost
        return (
            *(f"{count} {word}" for word, count in words.items()),
            part_length(took),
            *([f"{tokens:,} tokens"] if tokens else []),
            *([money(cost)] if cost else []),
        )

    @property
    def ending(self) -> str:
        """What is said of the report itself."""
        return f"Made by {self.made_by}. What looks like a key or a password is left out."


def report_to_json(report: WorkReport) -> dict[str, object]:
    """Return a report for programs."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "kind": KIND,
        "madeAt": report.made_at_ms,
        "madeBy": report.made_by,
        "problems": list(report.problems),
        "usage": usage_to_json(report.usage),
        "runs": [_run_to_json(run) for run in report.runs],
        "timelines": [timeline_to_json(each) for each in report.timelines],
    }


def _run_to_json(run: ReportedRun) -> dict[str, object]:
    record = run.record
    return {
        "runId": record.run_id,
        "sessionId": record.session_id,
        "title": record.title,
        "status": record.status,
        "state": as_dict(run.bar.state),
        "task": run.task,
        "answer": run.answer,
        "problems": list(run.problems),
        "notes": list(run.notes),
        "kind": record.kind or None,
        "model": record.model_used or None,
        "usage": usage_to_json(record.usage),
        "durationMs": record.duration_ms,
        **work_to_json(record.result),
        "patch": run.patch or None,
        "patchLeftOut": run.patch_left_out,
    }
