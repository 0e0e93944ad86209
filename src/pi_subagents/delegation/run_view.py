"""
Put into words how a run on disk stands: what it is doing, or how it ended.

In: a run directory and its liveness, which somebody proved.  Out: a RunView.  Writes nothing.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core import events as ev
from pi_subagents.core.liveness import Liveness
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import value
from pi_subagents.disk import safe_io
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.disk.run_dir import MAX_RESULT_BYTES
from pi_subagents.disk.run_story import result_by_journal
from pi_subagents.errors import RunUnreadable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.run_result import RunResult
    from pi_subagents.disk.run_dir import RunDir

PLANNED = "planned"


@value
class RunView:
    """One run as it is now; `result` only once it ended."""

    run_dir: RunDir
    meta: Mapping[str, object]
    status: str
    created_at_ms: int
    duration_ms: int
    usage: Usage
    error_message: str
    result: RunResult | None

    @property
    def active(self) -> bool:
        """Tell whether the run may still change."""
        return self.result is None and self.status != "interrupted"

    def text(self, key: str) -> str:
        """Return one text of the run's meta, empty where it has none."""
        value = self.meta.get(key)
        return value if isinstance(value, str) else ""


def view_run(run_dir: RunDir, liveness: Liveness) -> RunView:
    """Return what can be told of a run; RunUnreadable where nothing can."""
    try:
        meta = run_dir.read_meta()
    except (OSError, ValueError) as error:
        raise RunUnreadable(run_dir.run_id, str(error)) from error
    created = meta.get("createdAt")
    created_ms = created if isinstance(created, int) else 0
    goes_on = liveness is Liveness.ALIVE and not run_dir.never_began()
    # Who answers for the run puts its result there last thing: before that it is none of his.
    result = None if goes_on else _result(run_dir, meta)
    if result is not None:
        return RunView(
            run_dir, meta, result.status, created_ms, result.duration_ms, result.usage,
            result.error_message, result,
        )  # fmt: skip
    state, usage = _journal_state(run_dir)
    if state == PLANNED and "startedAt" in meta:
        state = "running"  # its journal was taken away
    if liveness is Liveness.LOST:
        return RunView(
            run_dir, meta, "interrupted", created_ms, 0, usage, messages.INTERRUPTED, None
        )  # fmt: skip
    started = meta.get("startedAt")
    duration = time.time_ns() // 1_000_000 - started if isinstance(started, int) else 0
    return RunView(run_dir, meta, state, created_ms, max(duration, 0), usage, "", None)


def _result(run_dir: RunDir, meta: Mapping[str, object]) -> RunResult | None:
    """Return how a run ended, None if nobody has told; RunUnreadable where that cannot be read."""
    session = meta.get("sessionId")
    session_id = session if isinstance(session, str) else ""
    for _ in range(2):  # it may come this instant: then it is neither damaged nor lost
        if (result := run_dir.read_result(session_id)) is not None:
            return result
        if not os.path.lexists(run_dir.result):
            return None
    if not run_dir.result_is_not_ours(session_id):
        raise RunUnreadable(run_dir.run_id, _why_not_readable(run_dir.result))
    return result_by_journal(run_dir, meta)


def _why_not_readable(result: Path) -> str:
    """Return what keeps a result from being read: the system, or what is in it."""
    try:
        safe_io.read_bounded(result, MAX_RESULT_BYTES)
    except OSError as error:
        return f"{result.name}: {error.strerror or error}"
    return f"{result.name} is damaged or of another version"


def _journal_state(run_dir: RunDir) -> tuple[str, Usage]:
    state, usage = PLANNED, Usage()
    tail = JournalTail(run_dir)
    try:
        for entry in tail.new_entries():
            match entry.event:
                case ev.StateChanged(changed):
                    state = changed
                case ev.AssistantMessage():
                    usage += entry.event.usage
    except OSError:
        pass
    finally:
        tail.close()
    return state, usage
