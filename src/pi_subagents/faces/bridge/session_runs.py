"""
The background runs as one session of pi sees them: its own, and any other by its id.

In: what a tool asks.  Out: the runs it tells of, and those it counts: counts and lists are of the
runs that this session began; a run id is looked for on disk as well.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.errors import BackgroundRunNotFound, IndexUnreadable
from pi_subagents.service.background import BackgroundRuns

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import StatusRequest
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.faces.bridge.open_session import OpenSession
    from pi_subagents.service.runs import Runs


class SessionRuns:
    """KnownRuns of a session."""

    def __init__(self, session: OpenSession, runs: Runs) -> None:
        self._session = session
        self._runs = runs

    def began(self, run: RunRecord) -> list[RunRecord]:
        """Put a run into the host's log."""
        self._session.begin(run)
        return self._as_known()

    def find(self, run_id: str) -> str:
        """Return the whole id of a run that is on disk, or at least in the host's log."""
        try:
            return BackgroundRuns(self._runs).find(run_id).run_id
        except BackgroundRunNotFound:
            known = [each for each in self._ids() if each.startswith(run_id)]
            if len(known) != 1:
                raise
            return known[0]

    async def wait(
        self, request: StatusRequest, stop: StopSwitch
    ) -> tuple[list[RunRecord], list[RunRecord]]:
        """Return the session's runs, and the one that was asked for."""
        if request.run_id is None:
            await BackgroundRuns(self._runs, self._ids()).wait(request, stop)
            own = self._session.refresh()
            return own, own
        found = await BackgroundRuns(self._runs).wait(request, stop)
        own = self._session.refresh()
        wanted = (run for run in found if run.run_id == request.run_id)
        rows = {run.run_id: run for run in (*own, *wanted)}
        return list(rows.values()), own

    async def stop(self, run_id: str | None) -> tuple[list[RunRecord], list[RunRecord]]:
        """End one run, or all that this session began."""
        chosen = BackgroundRuns(self._runs, None if run_id else self._ids())
        return await chosen.stop(run_id), self._as_known()

    def _as_known(self) -> list[RunRecord]:
        """Return the session's runs as they stand; as they stood where nobody can look."""
        with suppress(IndexUnreadable):  # what was done just now is told all the same
            return self._session.refresh()
        return self._session.registry.all()[::-1]

    def _ids(self) -> set[str]:
        return {run.run_id for run in self._session.registry.all()}
