"""
The windows of a call, and the end of a background run, as pi shows them: in pi's colours.

In: the windows, or the run.  Out: a picture in parts.  Those of windows always have the same
places: the status of all, for each window its header, its lines and what stands below them, and at
last the footer.  So a part that changes can be sent alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.view import messages
from pi_subagents.view.failure import explain_failure
from pi_subagents.view.picture import BLANK, SHOWN_LINES, Layout, Part, Span
from pi_subagents.view.states import state_of
from pi_subagents.view.time_spent import length
from pi_subagents.view.window import MAX_LINE, TAB_WIDTH
from pi_subagents.view.window_view import (
    STATUS_OF_ALL,
    counted_statuses,
    header_rests,
    host_elapsed,
    places,
    status_counts,
    window_name,
    window_state,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.view.picture import Role, Row
    from pi_subagents.view.preview import LineRole
    from pi_subagents.view.states import StateRole
    from pi_subagents.view.window import Window, WindowLine, WindowStatus

_STATUS_ROLES: Mapping[WindowStatus, Role] = {
    "queued": "muted", "running": "warning", "completed": "success", "error": "error",
    "stopped": "muted", "interrupted": "error",
}  # fmt: skip
_ROLES: Mapping[LineRole, Role] = {
    "muted": "muted", "added": "toolDiffAdded", "removed": "toolDiffRemoved", "steer": "accent",
    "plain": "plain", "figure": "muted", "failed": "error",
}  # fmt: skip
_STATE_ROLES: Mapping[StateRole, Role] = {
    "quiet": "muted", "working": "warning", "good": "success", "warning": "warning", "bad": "error",
    "stopped": "muted", "lost": "error",
}  # fmt: skip
AT_WORK = "⏳"
_GAP = Part((BLANK,))
_BELOW = Layout("wrap", indent=2)
_TASK = Layout("unfold", indent=2)
_ANSWER = Layout("wrap", indent=2, first=SHOWN_LINES, more=messages.MORE_LINES)


def window_picture(
    windows: Sequence[Window], lines: Sequence[Sequence[Row]], max_lines: int
) -> list[Part]:
    """Return all parts in their order, with these rows as the lines of each window."""
    parts = [Part((_status_of_all(windows),))]
    for window, place, rows in zip(windows, places(windows), lines, strict=True):
        parts += [
            _GAP,
            Part(tuple(_headers(window, place)), Layout("choose")),
            Part(tuple(rows), Layout("unfold", indent=2, latest=max_lines)),
            Part(tuple(_below(window)), _BELOW),
        ]
    # Wrapped, not cut: an id is behind a name, however long that is.
    return [*parts, Part(tuple(_footer(windows)), Layout("wrap"))]


def place_of_lines(index: int) -> int:
    """Return which part of the picture has the lines of a window."""
    return 4 * index + 3


def _status_of_all(windows: Sequence[Window]) -> Row:
    counts = [Span(text, _STATUS_ROLES[status]) for status, text in status_counts(windows)]
    row = [Span(STATUS_OF_ALL, "bold toolTitle")]
    for number, count in enumerate(counts):
        row += [Span(", ", "dim"), count] if number else [count]
    return tuple(row)


def _headers(window: Window, place: int) -> Iterable[Row]:
    """Return the line above a window, then without what matters least, and so on."""
    goes_on = window.status in ("queued", "running")
    role = "warning" if window.no_answer else _STATUS_ROLES[window.status]
    icon = Span(AT_WORK if goes_on else window_state(window).sign, role)
    name = Span(window_name(window), "bold accent")
    waits = messages.display_queued(place) if place else ""
    clock = "" if place else host_elapsed(window)
    for rest in header_rests(window, waits, clock):
        yield (icon, Span(" "), name, Span(rest, "dim"))


def line_row(line: WindowLine) -> Row:
    """Return one line: what a child says as it is, a call with its mark and its figures."""
    painted = tuple(Span(span.text, _ROLES[span.role], span.kept) for span in line.spans)
    mark: Role = "error" if line.kind == "failed" else "muted"
    return (Span(line.mark, mark), *painted) if line.mark else painted


def _below(window: Window) -> Iterable[Row]:
    """Return why there are no lines, why it failed, and what else is to be known of it."""
    if not window.history and window.status != "queued":
        starts = window.status == "running"
        none = messages.WINDOW_STARTING if starts else messages.WINDOW_NO_OUTPUT
        yield (Span(none, "muted"),)
    if window.error_message and window.status == "stopped":
        yield (Span(window.error_message, "muted"),)
    elif window.error_message:
        why = explain_failure(window.error_message)
        yield (Span(messages.window_error(why.what), "error"),)
        if why.to_do:
            yield (Span(why.to_do, "muted"),)
    for note in window.notes:
        yield (Span(messages.note(note), "muted"),)


def _footer(windows: Sequence[Window]) -> Iterable[Row]:
    """Return what goes on or, at the end, under which ids the answers are."""
    if goes_on := counted_statuses(windows, ("running", "queued")):
        yield from (BLANK, (Span(f"{goes_on}...", "muted"),))
        return
    known = [window for window in windows if window.title.session_id]
    if known:
        yield from (BLANK, (Span(messages.SESSION_IDS, "dim"),))
    for window in known:
        name = f"    {window_name(window)}: "
        yield (Span(name), Span(window.title.session_id, "accent"))


def end_picture(run: RunRecord, output: str) -> list[Part]:
    """Return what a person sees of a run that ended."""
    state = state_of(run)
    icon = Span(state.sign, _STATE_ROLES[state.role])
    header = (
        icon,
        Span(" "),
        Span(one_line(run.meta.preset or run.title, MAX_NAME_LENGTH), "bold"),
        Span(messages.background_header(state.word, length(run.duration_ms), run.run_id), "muted"),
    )
    task = one_line(run.meta.task, MAX_LINE)
    why = "\n".join(explain_failure(run.error_message).lines)
    return [
        Part((header,)),
        Part(((Span(task, "muted"),),) if task else (), _TASK),
        Part((*_text_rows(run.work), *_text_rows(why), *_text_rows(output)), _ANSWER),
    ]


def _text_rows(text: str) -> Iterable[Row]:
    lines = printable(text).expandtabs(TAB_WIDTH).rstrip().split("\n") if text.strip() else ()
    return ((Span(line),) if line else BLANK for line in lines)
