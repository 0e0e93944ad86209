"""
What the session log of a host holds: the sessions of ended calls, and its background runs.

In: the host's directory and environment, and the entries of its log, of any JSON.  Out: both as
they stand, to be kept up to date while the host's session is open.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace, value
from pi_subagents.hosts.pi.session_log import sessions_of_log
from pi_subagents.service import messages
from pi_subagents.service.background import BackgroundRuns, read_background
from pi_subagents.service.runs import Runs
from pi_subagents.view.background import (
    RUN_ENTRY,
    UPDATE_ENTRY,
    rebuild,
    run_entry,
    update_entry,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.core.session.recent import SessionView

LogEntry = dict[str, object]


class Registry:
    """The background runs of one host's session: those in its log, as they are on disk."""

    def __init__(self, runs: Runs, entries: Iterable[object] = ()) -> None:
        self._known = rebuild(entries)
        self._runs = runs
        self._disk = BackgroundRuns(runs, self._known)

    def all(self) -> list[RunRecord]:
        """Return every run as it stood at the last look, in the order of their start."""
        return list(self._known.values())

    def add(self, run: RunRecord) -> LogEntry:
        """Take a run that was just started, and return what to append to the log."""
        self._known[run.run_id] = run
        return {"customType": RUN_ENTRY, "data": run_entry(run)}

    def refresh(self) -> list[LogEntry]:
        """Look how the runs stand; return what to append to the log: an entry for each new end."""
        found = {run.run_id: run for run in self._disk.all()}
        news: list[LogEntry] = []
        for run_id, before in self._known.items():
            run = self._known[run_id] = found.get(run_id) or self._by_its_directory(before)
            if before.active and not run.active:
                news.append({"customType": UPDATE_ENTRY, "data": update_entry(run)})
        return news

    def _by_its_directory(self, run: RunRecord) -> RunRecord:
        """Return how a run stands that the index does not know: over, if its directory is gone."""
        if not run.active:
            return run
        run_dir = self._runs.directory_at(Path(run.path))
        if run_dir.exists():
            return read_background(run_dir) or run
        gone = RunResult(
            run.run_id,
            run.session_id,
            run.name,
            "failed",
            error_message=messages.RUN_DIRECTORY_GONE,
            usage=run.usage,
            duration_ms=run.duration_ms,
        )
        return replace(run, result=gone)

    def look(
        self,
        append: Callable[[LogEntry], None],
        on_end: Callable[[RunRecord], None],
        reported: set[str],
    ) -> bool:
        """Log each new end, and report it if nobody has; return whether any run is active."""
        alive = self._disk.alive()
        if any(run.active and run.run_id not in alive for run in self._known.values()):
            for entry in self.refresh():
                append(entry)
        self._disk.report_ends(on_end, reported)
        return any(run.active for run in self._known.values())


@value
class HostLog:
    """The sessions and the background runs in a log."""

    sessions: SessionView
    background: Registry


def open_host_log(cwd: Path, env: Mapping[str, str], entries: Sequence[object]) -> HostLog:
    """Read the entries; background runs are looked for on disk."""
    return HostLog(sessions_of_log(entries), Registry(Runs(cwd, env), entries))
