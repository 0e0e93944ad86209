"""
The result of a run: its order, its outcome, how its child ended, what was counted.

In: what the supervisor knows at the end.  Out: a RunResult, on disk and with whoever waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.messages import note_extended
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import value
from pi_subagents.store.completion import run_completion_hook
from pi_subagents.store.rescue import put_result
from pi_subagents.supervisor import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from pi_subagents.core.run.checked import Checked
    from pi_subagents.core.run.outcome import Ending, Outcome
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.child_sessions import KeptSession
    from pi_subagents.store.local_order import LocalOrder
    from pi_subagents.store.run_log import RunLog
    from pi_subagents.supervisor.intake import Intake
    from pi_subagents.supervisor.place import RunPlace


@value
class RunEnd:
    """How a run came to its end, beside what was taken in of it."""

    outcome: Outcome
    ending: Ending
    started_ms: int
    took_ms: int
    extended: bool  # beyond its time-out
    resumed: str  # how its session went on, where it did
    kept: KeptSession  # what was kept of the child's own session
    changes: str  # what became of its worktree, where it had one
    checked: Checked | None  # what the check of its work said
    waited: str = ""  # for its provider, where it had to


def deliver_result(
    order: LocalOrder, place: RunPlace, intake: Intake, log: RunLog, end: RunEnd
) -> None:
    """Keep the result where it is found, hand it to the caller, and tell who wanted to know."""
    crash_points.reach(crash_points.BEFORE_RESULT)
    result = place.keep_result(run_result(order.spec, intake, log, end), log)
    log.close()
    crash_points.reach(crash_points.AFTER_RESULT)
    put_result(order.place.envelope_fd, result)
    if not order.spec.attached:
        run_completion_hook(order.spec.on_complete, place.dir, result, str(place.where.path))


def run_result(spec: RunSpec, intake: Intake, log: RunLog, end: RunEnd) -> RunResult:
    """Return the result."""
    facts = intake.fold.facts()
    goes_on = end.resumed != spec.resume.how  # in a warm child, whatever was planned
    extended = note_extended(end.took_ms / 1000, spec.limits.timeout_s or 0) if end.extended else ""
    notes = (
        *spec.notes,
        *spec.resume.notes(facts["model"], goes_on=goes_on),
        *end.outcome.notes,
        extended,
        messages.note_retried(intake.fold.retries) if intake.fold.retries else "",
        end.waited,
        *intake.notes,
        *log.notes(),
        end.kept.note,
    )
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status=end.outcome.status,
        output=end.outcome.output,
        error_message=end.outcome.error_message,
        notes=tuple(filter(None, notes)),
        exit_code=end.ending.exit_code,
        signal_name=end.ending.signal_name,
        **facts,
        started_at_ms=end.started_ms,
        finished_at_ms=end.started_ms + end.took_ms,
        duration_ms=end.took_ms,
        artifacts_truncated=log.truncated,
        resumed=end.resumed,
        session_seal=end.kept.seal,
        changes=end.changes,
        checked=end.checked,
    )
