"""
Paint windows on a screen of so many columns and rows.

In: windows and how a person wants to see them.  Out: the lines of the screen, each one fitting;
nothing here touches a terminal.  Only what is visible is worked out, so that a screen costs about
the same however much the sub-agents write.  Where rows are scarce, windows at work come first, then
those with an error, then the rest; one row each, round by round.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, cast

from pi_subagents.core.value import value
from pi_subagents.faces.terminal import messages
from pi_subagents.faces.terminal.cells import cells, cut, fitted, wrapped
from pi_subagents.view.failure import ending_lines, explain_failure
from pi_subagents.view.window import MARK
from pi_subagents.view.window_view import (
    STATUS_OF_ALL,
    elapsed,
    ended_rests,
    header_rests,
    places,
    shown_lines,
    state_counts,
    window_state,
    window_title,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pi_subagents.faces.terminal.cells import Style, StyledLine
    from pi_subagents.view.preview import LineRole, LineSpan
    from pi_subagents.view.states import StateRole
    from pi_subagents.view.window import Window, WindowLine, WindowStatus

INDENT = "  "
AROUND = 2  # rows for the status above and the keys below
_STYLES: Mapping[StateRole, Style] = {
    "quiet": "muted", "working": "running", "good": "done", "warning": "warning", "bad": "error",
    "stopped": "stopped", "lost": "lost",
}  # fmt: skip
_LINE_STYLES: Mapping[LineRole, Style] = {"figure": "muted", "failed": "error"}
_RANKS: Mapping[WindowStatus, int] = {
    "running": 0, "error": 1, "interrupted": 1, "stopped": 2, "completed": 2, "queued": 3,
}  # fmt: skip


@value
class View:
    """How a person wants to see the windows; `scroll` counts rows back from the end."""

    expanded: bool = False
    scroll: int = 0
    notice: str = ""


@value
class Screen:
    """What to show, and how far back from the end that really is."""

    lines: list[StyledLine]
    scroll: int = 0


def paint(windows: Sequence[Window], width: int, height: int, view: View) -> Screen:
    """Return the screen that shows the windows."""
    room = max(height - AROUND, 0)
    body, scroll = (
        _scrolled(windows, width, room, view.scroll)
        if view.expanded
        else (_collapsed(windows, width, room), 0)
    )
    body += [()] * (room - len(body))
    keys = view.notice or _keys(expanded=view.expanded, scrolled=scroll > 0)
    lines: list[StyledLine] = [_status_of_all(windows), *body, ((keys, "muted"),)]
    return Screen([fitted(line, width) for line in lines[:height]], scroll)


def paint_ended(windows: Sequence[Window], width: int) -> list[StyledLine]:
    """Return what stays to be read: a line for each window, why it failed, and how to go on."""
    lines: list[StyledLine] = []
    for window in windows:
        lines += [paint_end(window, width), *_ending(window, width)]
    # A command that is to be copied is never cut: the shell's screen wraps it.
    return [*(fitted(line, width) for line in lines), *_next_command(windows)]


def paint_end(window: Window, width: int) -> StyledLine:
    """Return the one line that stays of a window."""
    return _titled(window, width, list(ended_rests(window)))


def _status_of_all(windows: Sequence[Window]) -> StyledLine:
    """Return how many windows stand how, each count in the colour of its status."""
    line: StyledLine = ((STATUS_OF_ALL, "bold"),)
    for number, (state, text) in enumerate(state_counts(windows)):
        line += ((", ", "muted"),) * (number > 0) + ((text, _STYLES[state.role]),)
    return line


def _keys(*, expanded: bool, scrolled: bool) -> str:
    if not expanded:
        return messages.DISPLAY_KEYS
    return messages.DISPLAY_KEYS_SCROLLED if scrolled else messages.DISPLAY_KEYS_EXPANDED


def _collapsed(windows: Sequence[Window], width: int, room: int) -> list[StyledLine]:
    contents = [_latest(window, width) + _error_lines(window) for window in windows]
    claims = [
        Claim(window.status, len(content))
        for window, content in zip(windows, contents, strict=True)
    ]
    waiting = places(windows)
    shares = share(claims, room)
    roomy = len(windows) * 2 - 1 + sum(claim.rows for claim in claims) <= room
    lines: list[StyledLine] = []
    for index, (window, content) in enumerate(zip(windows, contents, strict=True)):
        rows = shares[index]
        if rows is None:
            continue
        lines += [()] if roomy and lines else []
        lines.append(_header(window, width, waiting[index]))
        lines += content[len(content) - rows :]
    if left_out := shares.count(None):
        lines.append(((messages.display_left_out(left_out), "muted"),))
    return lines[:room]


def _scrolled(
    windows: Sequence[Window], width: int, room: int, scroll: int
) -> tuple[list[StyledLine], int]:
    """Return the rows of the whole history that are in view, and how far back they are."""
    backwards = _history_backwards(windows, width)
    behind = list(islice(backwards, scroll + room))
    scroll = min(scroll, max(len(behind) - room, 0))
    return behind[scroll : scroll + room][::-1], scroll


def _history_backwards(windows: Sequence[Window], width: int) -> Iterator[StyledLine]:
    waiting = places(windows)
    for index in reversed(range(len(windows))):
        window = windows[index]
        yield from reversed(_error_lines(window, width))
        if window.status != "queued":
            for line in reversed(shown_lines(window, expanded=True)):
                yield from reversed(_wrapped_line(line, width))
        yield _header(window, width, waiting[index])
        if index:
            yield ()


def _latest(window: Window, width: int) -> list[StyledLine]:
    if window.status == "queued":
        return []
    return [_content(line, width) for line in shown_lines(window, expanded=False)]


def _content(line: WindowLine, width: int) -> StyledLine:
    if line.kind == "text":
        return ((INDENT, "plain"), (line.text, "plain"))
    begin = [_styled(span) for span in line.spans if not span.kept]
    end = [_styled(span) for span in line.spans if span.kept]
    return fitted(((INDENT, "plain"), _mark(line), *begin), width, tuple(end))


def _styled(span: LineSpan) -> tuple[str, Style]:
    return span.text, _LINE_STYLES.get(span.role) or cast("Style", span.role)


def _mark(line: WindowLine) -> tuple[str, Style]:
    """Return what stands before a line; a call has an arrow of its own behind its name."""
    if line.kind == "tool" and line.mark == MARK:
        return "", "plain"
    return line.mark, "error" if line.kind == "failed" else "muted"


def _wrapped_line(line: WindowLine, width: int) -> list[StyledLine]:
    if line.kind in ("tool", "failed"):  # a preview is one line by nature
        return [_content(line, width)]
    style: Style = "plain" if line.kind == "text" else "steer"
    return [((INDENT, "plain"), (part, style)) for part in _parts(line.mark + line.text, width)]


def _error_lines(window: Window, width: int | None = None) -> list[StyledLine]:
    """Return the error, if there is one; wrapped where a width is given."""
    if not window.error_message or window.status == "stopped":  # its sign and word say it
        return []
    text = f"Error: {explain_failure(window.error_message).what}"
    parts = (text,) if width is None else _parts(text, width)
    return [((INDENT, "plain"), (part, "error")) for part in parts]


def _ending(window: Window, width: int) -> list[StyledLine]:
    """Return why it failed, what to do about that, and what else is to be known of it."""
    lines: list[StyledLine] = []
    failed = window.status in ("error", "interrupted")
    for text in ending_lines(window.error_message, window.notes):
        style: Style = "error" if failed and not lines else "muted"
        lines += [((INDENT, "plain"), (part, style)) for part in _parts(text, width)]
    return lines


def _parts(text: str, width: int) -> tuple[str, ...]:
    return wrapped(text, max(width - len(INDENT), 1))


def _header(window: Window, width: int, place: int) -> StyledLine:
    """Return the line above a window."""
    waits = messages.display_waits(place) if place else ""
    return _titled(
        window, width, list(header_rests(window, waits, "" if place else elapsed(window)))
    )


def _titled(window: Window, width: int, rests: Sequence[str]) -> StyledLine:
    """Return sign, name and what stands behind it; where it does not fit, the least goes first."""
    state, name = window_state(window), window_title(window)
    icon = f"{state.sign} "
    rest = next((each for each in rests if cells(icon + name + each) <= width), rests[-1])
    name = cut(name, max(width - cells(icon + rest), 1))
    return ((icon, _STYLES[state.role]), (name, "name"), (rest, "muted"))


def _next_command(windows: Sequence[Window]) -> list[StyledLine]:
    """Return what to type to go on: with one that failed, if one did."""
    known = [window for window in windows if window.title.session_id]
    failed = [window for window in known if window.status == "error"]
    if not known:
        return []
    chosen = (failed or known)[0]
    name = window_title(chosen) if len(windows) > 1 else ""
    return [((messages.display_next(chosen.title.session_id, name), "muted"),)]


@value
class Claim:
    """How a window stands, and how many rows it would like under its header."""

    status: WindowStatus
    rows: int


def share(claims: Sequence[Claim], room: int) -> tuple[int | None, ...]:
    """Return the rows under each header, as many as there is room for; None without a header."""
    by_rank = sorted(range(len(claims)), key=lambda index: _RANKS[claims[index].status])
    # Where not all headers fit, one row says how many are missing.
    shown = by_rank if len(claims) <= room else by_rank[: max(room - 1, 0)]
    left = room - len(shown) - (len(shown) < len(claims))
    given = dict.fromkeys(shown, 0)
    left = _hand_out(given, claims, [i for i in shown if claims[i].status == "running"], left)
    _hand_out(given, claims, shown, left)
    return tuple(given.get(index) for index in range(len(claims)))


def _hand_out(
    given: dict[int, int], claims: Sequence[Claim], group: Sequence[int], left: int
) -> int:
    """Give one row each, round by round; return what is left."""
    while left > 0:
        wanting = [index for index in group if given[index] < claims[index].rows][:left]
        if not wanting:
            break
        for index in wanting:
            given[index] += 1
        left -= len(wanting)
    return left
