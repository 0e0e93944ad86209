"""
What is in a run's directory beside its record, to show one run with everything.

In: a record that was read from there.  Out: texts and plain values.  Writes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import count_at, text_at
from pi_subagents.errors import RunUnreadable
from pi_subagents.store.run_records import directory_of
from pi_subagents.store.tails import TRANSCRIPT_HEADING, TranscriptTail, journal_entries
from pi_subagents.system.clock import now_ms
from pi_subagents.system.safe_io import read_bounded
from pi_subagents.view.timeline import bar_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.timeline import Bar

MAX_TRANSCRIPT_BYTES = 64 * 1024 * 1024


def meta_of(run: RunRecord) -> dict[str, object]:
    """Return everything that was recorded of a run before it began, and which process serves it."""
    try:
        return directory_of(run).read_meta()
    except (OSError, ValueError) as error:
        raise RunUnreadable(run.run_id, str(error)) from error


def task_of(run: RunRecord) -> str:
    """Return all that a run was asked; its record has the beginning."""
    directory = directory_of(run)
    try:
        meta = directory.read_meta()
    except (OSError, ValueError):
        return run.meta.task
    beginning, length = text_at(meta, "task"), count_at(meta, "taskLength")
    if length > len(beginning):
        for path in (directory.task, directory.prompt):  # the latter may begin with earlier runs
            with suppress(OSError):
                return read_bounded(path, MAX_TRANSCRIPT_BYTES).decode("utf-8", "replace")
    return beginning


def transcript_of(run: RunRecord) -> str:
    """Return what happened, in plain words; nothing where that cannot be read."""
    try:
        content = read_bounded(directory_of(run).transcript, MAX_TRANSCRIPT_BYTES)
    except OSError:
        return ""
    return content.decode("utf-8", "replace").rstrip("\n")


def said_in(run: RunRecord) -> str:
    """Return the same without its heading: whoever shows it has said whose it is."""
    heading, _, said = transcript_of(run).partition("\n")
    return said if TRANSCRIPT_HEADING.fullmatch(heading) else transcript_of(run)


def follow_transcript(run: RunRecord) -> TranscriptTail:
    """Return what gives, at each look, the lines that were added since the last."""
    return TranscriptTail(directory_of(run).transcript)


def events_of(run: RunRecord) -> Iterator[Event]:
    """Yield what happened, as far as the journal goes."""
    return (entry.event for entry in journal_entries(directory_of(run)))


def bar_for(run: RunRecord) -> Bar:
    """Return when it did what, as far as the journal goes."""
    return bar_of(run, journal_entries(directory_of(run)), now_ms())


def files_of(run: RunRecord) -> list[str]:
    """Return the paths of everything that is there."""
    return sorted(str(path) for path in directory_of(run).path.iterdir())
