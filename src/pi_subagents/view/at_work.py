"""
A run in one line: its sign, what it is called, its short id, how it stands, what it does now.

In: records of runs.  Out: printable texts.  A task that nobody named is called by its beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.task.request import is_unnamed
from pi_subagents.view.amounts import large
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import length

if TYPE_CHECKING:
    from pi_subagents.core.run.record import RunRecord

MAX_CALLED = 32
SEPARATOR = " · "


def called(run: RunRecord, width: int = MAX_CALLED) -> str:
    """Return what people call a run; one that is known by its task, with its preset."""
    preset = run.meta.preset if is_unnamed(run.name, run.meta.preset) else ""
    return one_line(f"{preset}: {run.title}" if preset else run.title, width)


def how_it_stands(run: RunRecord) -> str:
    """Return who a run is and how it stands, in one line."""
    state = state_of(run)
    took = length(run.duration_ms) if run.meta.started_at_ms else ""
    parts = (f"{state.sign} {called(run)}", run.short_id, state.word, took, large(run.usage))
    return SEPARATOR.join(filter(None, parts))


def at_work_line(run: RunRecord, width: int) -> str:
    """Return the same with what it does now, within a width."""
    parts = (how_it_stands(run), run.why_it_waits or run.progress.last_line)
    return one_line(SEPARATOR.join(filter(None, parts)), width)
