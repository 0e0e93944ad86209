"""Every background run on disk, for callers that keep no log of their own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.errors import IndexUnreadable
from pi_subagents.service.background import BackgroundRuns

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.runs import Runs


class EveryRun:
    """KnownRuns of whoever may see all."""

    def __init__(self, runs: Runs) -> None:
        self._runs = BackgroundRuns(runs)

    def began(self, run: RunRecord) -> list[RunRecord]:
        """Return what there is to count."""
        with suppress(IndexUnreadable):  # it was started, whatever else can be told
            return self._runs.all()
        return [run]

    def find(self, run_id: str) -> str:
        """Return the whole id of a run."""
        return self._runs.find(run_id).run_id

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[list[RunRecord], list[RunRecord]]:
        """Return all of them, and count all."""
        found = await self._runs.wait(request, stop)
        return found, found

    async def stop(self, run_id: str | None) -> tuple[list[RunRecord], list[RunRecord]]:
        """End one, or all, and count all."""
        return await self._runs.stop(run_id), self._runs.all()
