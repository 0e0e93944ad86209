"""
The background runs of a caller: those that it lists, counts and may ask for.

A host that keeps a log of its own has its session's runs; for everybody else it is every run on
disk.  Both answer the same tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.stop_switch import StopSwitch


class KnownRuns(Protocol):
    """What the background tools need to know; of two lists the second one is counted."""

    def began(self, run: RunRecord) -> Sequence[RunRecord]:
        """Take a run that was just started, and return those to count."""

    def find(self, run_id: str) -> str:
        """Return the whole id of a run; StoreError if there is none, or more than one."""

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[Sequence[RunRecord], Sequence[RunRecord]]:
        """Return how the runs stand, after waiting for news as long as was asked for."""

    async def stop(self, run_id: str | None) -> tuple[Sequence[RunRecord], Sequence[RunRecord]]:
        """End one run, or all, and return how those stand then."""
