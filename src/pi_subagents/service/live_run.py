"""
Follow one run that goes on: its record, kept current by what is added to its journal.

In: a directory whose journal grows.  Out: light records.  A journal is read as far as it got, once:
the next look takes what was added.  Writes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.value import replace
from pi_subagents.errors import RunUnreadable
from pi_subagents.store.journal_tail import JournalTail
from pi_subagents.store.run_records import asked_record
from pi_subagents.view.fleet import cut, last_line_of, light

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord, Told
    from pi_subagents.store.run_dir import RunDir


class LiveRun:
    """
    A run under way, and how far its journal was read; RunUnreadable where there is none.

    `files` are those that say more of it when they change.
    """

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.files = (run_dir.meta, run_dir.events, run_dir.transcript)
        self._record = light(asked_record(run_dir))
        self._tail = JournalTail(run_dir)
        self._words = ProgressFormatter()

    def record(self) -> RunRecord:
        """Read what was added, and return how the run stands."""
        told = self._record.told
        with suppress(OSError):  # as far as it goes
            for entry in self._tail.new_entries():
                told = self._after(told, entry.event)
        if told is not self._record.told:
            self._record = replace(self._record, told=told)
        if not self._record.meta.started_at_ms:
            with suppress(RunUnreadable):
                self._record = replace(light(asked_record(self.run_dir)), told=told)
        return self._record

    def close(self) -> None:
        """Let go of the journal."""
        self._tail.close()

    def _after(self, told: Told, event: ev.Event) -> Told:
        match event:
            case ev.StateChanged(state):
                told = replace(told, state=state)
            case ev.AssistantMessage():
                model = cut(event.model) or told.model
                told = replace(told, usage=told.usage + event.usage, model=model)
        said = last_line_of(self._words.text(event))
        return replace(told, last_line=said) if said else told
