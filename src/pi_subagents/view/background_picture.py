"""
The end of a background run as pi shows it in the conversation.

In: the run, and as much of its answer as is shown.  Out: a picture: how it ended, what it was
asked, what it said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.view import messages
from pi_subagents.view.background import background_status
from pi_subagents.view.picture import BLANK, SHOWN_LINES, Layout, Part, Span
from pi_subagents.view.window import MAX_LINE, TAB_WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.picture import Row

_ASKED = Layout("unfold", indent=2)
_SAID = Layout("wrap", indent=2, first=SHOWN_LINES, more=messages.MORE_LINES)


def end_picture(run: RunRecord, output: str) -> list[Part]:
    """Return what a person sees of a run that ended."""
    icon = Span("✓", "success") if run.status == "completed" else Span("✗", "error")
    seconds = run.duration_ms // 1000
    header = (
        icon,
        Span(" "),
        Span(one_line(run.meta.preset, MAX_NAME_LENGTH), "bold"),
        Span(messages.background_header(background_status(run), seconds, run.run_id), "muted"),
    )
    task = one_line(run.meta.task, MAX_LINE)
    return [
        Part((header,)),
        Part(((Span(task, "muted"),),) if task else (), _ASKED),
        Part((*_rows(run.error_message), *_rows(output)), _SAID),
    ]


def _rows(text: str) -> Iterable[Row]:
    lines = printable(text).expandtabs(TAB_WIDTH).rstrip().split("\n") if text.strip() else ()
    return ((Span(line),) if line else BLANK for line in lines)
