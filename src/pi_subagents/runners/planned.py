"""
What every runner does with runs that were planned: expect them, and refuse those that never start.

In: orders of runs whose directories are held.  Out: a result, also where nothing was started.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CLUSTER_VARIABLE
from pi_subagents.core.run.result import RunResult
from pi_subagents.store.desk import REFUSED
from pi_subagents.store.rescue import ensure_dir

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.outcome import Status
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.table import RunnerPlace
    from pi_subagents.store.run_dir import RunDir


class PlannedRuns:
    """The runs of one call, from their planning to their start."""

    def __init__(self, place: RunnerPlace) -> None:
        self._place = place
        self._held = place.held
        # Where the database of a cluster is, with a password perhaps, is no child's business.
        self._env = {name: each for name, each in place.env.items() if name != CLUSTER_VARIABLE}
        self._upcoming: dict[str, RunSpec] = {}

    def expect(self, specs: Iterable[RunSpec]) -> None:
        """Note all runs that are to come, in their order, before the first of them."""
        self._upcoming = {spec.run_id: spec for spec in specs}

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool, note: str = "") -> RunResult:
        """Record a run that never had a supervisor."""
        self._upcoming.pop(spec.run_id, None)
        run_dir = self._held.run_dir(spec.run_id)
        result = without_supervisor(spec, "aborted" if aborted else "failed", message, note)
        try:
            if not _never_began(run_dir):
                return run_dir.now().read_result() or result
            with suppress(OSError):
                ensure_dir(run_dir).write_result(result)
                run_dir.desk.clear_ours()
        finally:
            self._held.release(spec.run_id)
        return result


def _never_began(run_dir: RunDir) -> bool:
    """Return whether a run is ours to refuse: it was not stopped, and has no supervisor."""
    try:
        return run_dir.desk.take_turn(REFUSED)
    except OSError:  # its desk is gone, as at its end, or nothing can be noted there
        return run_dir.now().read_result() is None


def without_supervisor(spec: RunSpec, status: Status, message: str, note: str) -> RunResult:
    """Return the result of a run that has no supervisor to write one."""
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status=status,
        error_message=message,
        notes=(*spec.notes, *([note] if note else ())),
        finished_at_ms=time.time_ns() // 1_000_000,
    )
