"""
Look at runs on disk: what each is doing or how it ended, and stop one.

Nothing here writes: a run whose supervisor is gone without a result is shown as interrupted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents import errors
from pi_subagents.core import events as ev
from pi_subagents.core.run_spec import KILL, STOP
from pi_subagents.core.usage import Usage
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.errors import RunNotActive, RunUnreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run_result import RunResult
    from pi_subagents.disk.run_dir import RunDir

# Between its creation and its supervisor's lock a run looks like one that lost it.
STARTING_UP_MS = 10_000


@dataclass(frozen=True, slots=True)
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


def view_run(run_dir: RunDir) -> RunView:
    """Return what can be told of a run; RunUnreadable where nothing can."""
    try:
        meta = run_dir.read_meta()
    except (OSError, ValueError) as error:
        raise RunUnreadable(run_dir.run_id, str(error)) from error
    created = meta.get("createdAt")
    created_ms = created if isinstance(created, int) else 0
    alive = run_dir.supervised()  # before the result: a run may end between the two looks
    result = run_dir.read_result()
    if result is not None:
        return RunView(
            run_dir, meta, result.status, created_ms, result.duration_ms, result.usage,
            result.error_message, result,
        )  # fmt: skip
    now_ms = time.time_ns() // 1_000_000
    started = meta.get("startedAt")
    duration = now_ms - started if alive and isinstance(started, int) else 0
    state, usage = _journal_state(run_dir)
    if not alive:
        young = now_ms - created_ms < STARTING_UP_MS and state == "planned"
        state = "planned" if young else "interrupted"
    message = errors.INTERRUPTED if state == "interrupted" else ""
    return RunView(run_dir, meta, state, created_ms, max(duration, 0), usage, message, None)


def stop_run(view: RunView, *, force: bool) -> None:
    """Ask a run's supervisor to end it; RunNotActive if there is none to ask."""
    if not view.active or not view.run_dir.send(KILL if force else STOP):
        raise RunNotActive(view.run_dir.run_id, view.status)


def wait_for_end(run_dir: RunDir) -> RunView:
    """Wait until the run has no supervisor any more, and return how it ended."""
    run_dir.wait_unsupervised()
    return view_run(run_dir)


def _journal_state(run_dir: RunDir) -> tuple[str, Usage]:
    state, usage = "planned", Usage()
    tail = JournalTail(run_dir.events)
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
