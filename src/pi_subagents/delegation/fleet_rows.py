"""
Make rows of the fleet from run directories: of a run that is over, or of one that goes on.

In: a RunView, or a directory whose journal grows.  Out: FleetRows.  A run that goes on is read as
far as it got, once: the next look takes what was added.  Writes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core import events as ev
from pi_subagents.core.fleet import FleetRow, cut, last_line_of
from pi_subagents.core.progress import ProgressFormatter
from pi_subagents.core.value import replace
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.errors import RunUnreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.delegation.run_view import RunView
    from pi_subagents.disk.run_dir import RunDir


def ended_row(view: RunView) -> FleetRow:
    """Return the row of a run that does not change any more."""
    result = view.result
    row = _asked(view.run_dir, view.meta)
    said = result.output if result and result.completed else view.error_message
    return replace(
        row,
        status=view.status,
        model=cut(result.model) if result else "",
        started_at_ms=(result.started_at_ms if result else 0) or row.started_at_ms,
        # Of a lost run that is not ours nobody knows when it ended.
        finished_at_ms=(result.finished_at_ms if result else 0) or row.created_at_ms,
        last_line=cut(said),
        usage=view.usage,
    )


class LiveRun:
    """A run under way, and how far its journal was read."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self._tail = JournalTail(run_dir)
        self._words = ProgressFormatter()
        try:
            self._row = _asked(run_dir, run_dir.read_meta())
        except (OSError, ValueError) as error:
            raise RunUnreadable(run_dir.run_id, str(error)) from error

    def row(self) -> FleetRow:
        """Read what was added, and return how the run stands."""
        with suppress(OSError):  # as far as it goes
            for entry in self._tail.new_entries():
                self._take(entry.event)
        if not self._row.started_at_ms:
            with suppress(OSError, ValueError):
                started = _time(self.run_dir.read_meta(), "startedAt")
                self._row = replace(self._row, started_at_ms=started)
        return self._row

    def close(self) -> None:
        """Let go of the journal."""
        self._tail.close()

    def _take(self, event: ev.Event) -> None:
        match event:
            case ev.StateChanged(state):
                self._row = replace(self._row, status=state)
            case ev.AssistantMessage():
                self._row = replace(
                    self._row,
                    usage=self._row.usage + event.usage,
                    model=cut(event.model) or self._row.model,
                )
        if said := last_line_of(self._words.text(event)):
            self._row = replace(self._row, last_line=said)


def _asked(run_dir: RunDir, meta: Mapping[str, object]) -> FleetRow:
    """Return what was known before the run began."""
    return FleetRow(
        run_id=run_dir.run_id,
        session_id=_text(meta, "sessionId"),
        name=cut(_text(meta, "name")),
        status="planned",
        path=str(run_dir.path),
        cwd=_text(meta, "cwd"),
        kind=cut(_text(meta, "profile") or _text(meta, "preset")),
        background=meta.get("attached") is False,
        created_at_ms=_time(meta, "createdAt"),
        started_at_ms=_time(meta, "startedAt"),
    )


def _text(meta: Mapping[str, object], key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""


def _time(meta: Mapping[str, object], key: str) -> int:
    value = meta.get(key)
    return value if isinstance(value, int) else 0
