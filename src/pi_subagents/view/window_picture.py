"""
The windows of a call as pi shows them: a picture in parts, in the colours of pi's themes.

In: the windows.  Out: parts that always have the same places: the status of all, for each window
its header, its lines and what stands below them, and at last the footer.  So a part that changes
can be told alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.view import messages
from pi_subagents.view.picture import BLANK, Layout, Part, Span
from pi_subagents.view.window_view import (
    STATUS_OF_ALL,
    counted_statuses,
    header_parts,
    header_rests,
    places,
    status_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pi_subagents.view.picture import Role, Row
    from pi_subagents.view.preview import LineRole
    from pi_subagents.view.window import Window, WindowLine, WindowStatus

_STATUS_ROLES: Mapping[WindowStatus, Role] = {
    "queued": "muted", "running": "warning", "completed": "success", "error": "error",
}  # fmt: skip
_ROLES: Mapping[LineRole, Role] = {
    "muted": "muted", "added": "toolDiffAdded", "removed": "toolDiffRemoved", "steer": "accent",
    "plain": "plain",
}  # fmt: skip
_GAP = Part((BLANK,))
_BELOW = Layout("wrap", indent=2)


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
    told = header_parts(window)
    begin = (
        Span(told.icon, _STATUS_ROLES[window.status]),
        Span(" "),
        Span(told.name, "bold accent"),
    )
    for rest in header_rests(window, place, clock=window.status != "queued"):
        yield (*begin, Span(rest, "dim"))


def line_row(line: WindowLine) -> Row:
    """Return one line: what a child says as it is, a call with its mark and its figures."""
    painted = tuple(Span(span.text, _ROLES[span.role], span.kept) for span in line.spans)
    return (Span(line.mark, "muted"), *painted) if line.mark else painted


def _below(window: Window) -> Iterable[Row]:
    """Return why there are no lines, why it failed, and what else is to be known of it."""
    if not window.history and window.status != "queued":
        starts = window.status == "running"
        none = messages.WINDOW_STARTING if starts else messages.WINDOW_NO_OUTPUT
        yield (Span(none, "muted"),)
    if window.error_message:
        yield (Span(messages.window_error(window.error_message), "error"),)
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
        name = f"    {header_parts(window).name}: "
        yield (Span(name), Span(window.title.session_id, "accent"))
