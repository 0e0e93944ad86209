"""
All runs at a glance: rows, which of them are wanted, how they are grouped, what they add up to.

In: light records of runs in any order, what somebody looks for, when today began.  Out: rows by
session, totals, JSON.  A light record holds little: its texts are cut and made printable,
so that thousands of them fit in memory and nobody cuts them again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, get_args

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.checked import Checked
from pi_subagents.core.run.question import waiting_part
from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult, work_to_json
from pi_subagents.core.usage import Usage, usage_to_json
from pi_subagents.core.value import value
from pi_subagents.view.failure import ending_lines, explain_failure
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SEPARATOR = " · "
MAX_TEXT = 200
MAX_REASON = 1000  # a provider's JSON, of which a person is told what it means
MAX_NOTES = 8
LEAST_OF_AN_ID = 4

Which = Literal["all", "active", "completed", "failed", "stopped", "interrupted"]
WHICH: tuple[Which, ...] = get_args(Which)


@value
class Wanted:
    """What somebody looks for: words that must all occur, and how the run stands."""

    text: str = ""
    which: Which = "all"

    def takes(self, row: RunRecord) -> bool:
        """Return whether a row is wanted."""
        words = self.text.casefold().split()
        return _stands(row, self.which) and all(_occurs(word, row) for word in words)


@value
class Totals:
    """How many rows each filter lists, and what was used today."""

    active: int = 0
    waiting: int = 0  # of those that are active
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    interrupted: int = 0
    used_today: Usage = Usage()


def arranged(rows: Iterable[RunRecord], wanted: Wanted) -> list[tuple[RunRecord, bool]]:
    """
    Return the wanted rows in the order of a list, each with whether it follows one of its session.

    Sessions with work under way come first; in a session, the newest run does.
    """
    sessions: dict[str, list[RunRecord]] = {}
    for row in rows:
        if wanted.takes(row):
            # A run without a session, from another time, is alone.
            sessions.setdefault(row.session_id or row.run_id, []).append(row)
    groups = sorted(sessions.items(), key=lambda each: (*_urgency(each[1]), each[0]))
    return [
        (row, place > 0)
        for _, found in groups
        for place, row in enumerate(sorted(found, key=_newest_first))
    ]


def totals(rows: Iterable[RunRecord], today_ms: int, text: str = "") -> Totals:
    """Count the rows with these words; what is at work is used today, whenever it began."""
    wanted = [row for row in rows if Wanted(text).takes(row)]
    words = Counter("active" if row.active else state_of(row).word for row in wanted)
    today = (row.usage for row in wanted if row.active or finished_at_ms(row) >= today_ms)
    return Totals(
        words["active"],
        sum(row.status == "planned" for row in wanted),
        words["completed"],
        words["failed"],
        words["stopped"],
        words["interrupted"],
        sum(today, Usage()),
    )


def light(run: RunRecord) -> RunRecord:
    """Return a record as a list keeps it."""
    meta, result = run.meta, run.result
    kept = RunMeta(
        session_id=meta.session_id,
        call_id=meta.call_id,
        name=cut(meta.name),
        task=cut(meta.task),
        cwd=meta.cwd,
        profile=cut(meta.profile),
        preset=cut(meta.preset),
        engine=cut(meta.engine),
        attached=meta.attached,
        created_at_ms=meta.created_at_ms,
        started_at_ms=(result.started_at_ms if result else 0) or meta.started_at_ms,
    )
    said = result and RunResult(
        run_id=run.run_id,
        session_id=meta.session_id,
        name=kept.name,
        status=result.status,
        output=cut(result.output) if result.completed else "",
        error_message=one_line(result.error_message, MAX_REASON),
        notes=tuple(cut(note) for note in result.notes[:MAX_NOTES]),
        checked=result.checked
        and Checked(
            cut(result.checked.command), result.checked.exit_code, cut(result.checked.tail)
        ),
        changes=cut(result.changes),
        model=cut(result.model),
        usage=result.usage,
        started_at_ms=result.started_at_ms,
        finished_at_ms=result.finished_at_ms,
        duration_ms=result.duration_ms,
    )
    return RunRecord(
        run.run_id,
        kept,
        run.progress,
        said,
        lost=run.lost,
        path=run.path,
        desk=run.desk,
        waiting_for=run.waiting_for,
    )


def last_line(run: RunRecord) -> str:
    """Return what a run does, answered, or failed with."""
    if run.active:
        return run.why_it_waits or run.progress.last_line
    done = run.status == "completed"
    said = run.output if done else cut(explain_failure(run.error_message).what)
    return cut(SEPARATOR.join(filter(None, (run.work, said))))


def ending(run: RunRecord) -> tuple[str, ...]:
    """Return what is said below how a run ended: why, what to do about it, and its notes."""
    return ending_lines(run.error_message, run.result.notes if run.result else ())


def finished_at_ms(run: RunRecord) -> int:
    """Return when a run ended, 0 if it has not; of one that is lost nobody knows it."""
    if run.active:
        return 0
    return (run.result.finished_at_ms if run.result else 0) or run.meta.created_at_ms


def cut(text: str) -> str:
    """Return a text as a light record keeps it."""
    return one_line(text, MAX_TEXT)


def last_line_of(text: str) -> str:
    """Return the last line of a text that says something, as a light record keeps it."""
    for line in reversed(text.rstrip().rsplit("\n", maxsplit=8)):
        if said := cut(line):
            return said
    return ""


def row_to_json(row: RunRecord) -> dict[str, object]:
    """Return one row for a script or a page."""
    return {
        "runId": row.run_id,
        "sessionId": row.session_id,
        "name": row.name,
        "task": row.meta.task,
        "status": row.status,
        "active": row.active,
        "kind": row.kind or None,
        "engine": row.meta.engine or None,
        **({"worker": row.meta.worker} if row.meta.worker else {}),
        "model": row.model or None,
        "background": not row.meta.attached,
        "createdAt": row.meta.created_at_ms,
        "startedAt": row.meta.started_at_ms or None,
        "finishedAt": finished_at_ms(row) or None,
        "lastLine": last_line(row),
        **waiting_part(row.waiting_for),
        **work_to_json(row.result),
        "usage": usage_to_json(row.usage),
        "cwd": row.meta.cwd,
        "path": row.path,
    }


def totals_to_json(found: Totals) -> dict[str, object]:
    """Return the totals for a script, in the words of the core."""
    return {
        "active": found.active,
        "planned": found.waiting,
        "completed": found.completed,
        "failed": found.failed,
        "aborted": found.stopped,
        "interrupted": found.interrupted,
        "usageToday": usage_to_json(found.used_today),
    }


def _occurs(word: str, row: RunRecord) -> bool:
    """Return whether a row shows a word, or has an id that begins with it and not by chance."""
    state = state_of(row).word
    shown = (
        row.name,
        row.title,
        state,
        row.model,
        row.kind,
        row.agent,
        row.worker,
        last_line(row),
        row.meta.cwd,
    )
    is_id = len(word) >= LEAST_OF_AN_ID and (
        row.run_id.startswith(word) or row.session_id.startswith(word)
    )
    return is_id or word in "\n".join(shown).casefold()


def _stands(row: RunRecord, which: Which) -> bool:
    match which:
        case "all":
            return True
        case "active":
            return row.active
        case word:
            return not row.active and state_of(row).word == word


def _newest_first(row: RunRecord) -> tuple[int, str]:
    return -row.meta.created_at_ms, row.run_id


def _urgency(session: Sequence[RunRecord]) -> tuple[int, int]:
    """Sort what is at work before what waits its turn, and that before what is over."""
    active = [row for row in session if row.active]
    if not active:
        return 2, -max(max(finished_at_ms(row), row.meta.created_at_ms) for row in session)
    waits = all(row.status == "planned" for row in active)
    # They stay where they are while they work.
    return int(waits), -max(row.meta.created_at_ms for row in active)
