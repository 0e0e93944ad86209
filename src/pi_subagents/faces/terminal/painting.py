"""
Paint windows on a screen of so many columns and rows.

In: windows and how a person wants to see them.  Out: the lines of the screen, each one fitting;
nothing here touches a terminal.  Only what is visible is worked out, so that a screen costs about
the same however much the sub-agents write.  Where rows are scarce, windows at work come first, then
those with an error, then the rest; one row each, round by round.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.faces.terminal import messages
from pi_subagents.faces.terminal.cells import cells, cut, fitted, wrapped
from pi_subagents.view.window_view import (
    STATUS_OF_ALL,
    header_rests,
    places,
    shown_lines,
    status_counts,
    window_icon,
    window_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pi_subagents.faces.terminal.cells import Style, StyledLine
    from pi_subagents.view.window import Window, WindowLine, WindowStatus

INDENT = "  "
AROUND = 2  # rows for the status above and the keys below
_STATUS_STYLES: Mapping[WindowStatus, Style] = {
    "queued": "muted", "running": "running", "completed": "done", "error": "error",
}  # fmt: skip
_RANKS: Mapping[WindowStatus, int] = {"running": 0, "error": 1, "completed": 2, "queued": 3}


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
    """Return what stays to be read: every window, however high, and how to go on."""
    lines: list[StyledLine] = [_status_of_all(windows)]
    for window, place in zip(windows, places(windows), strict=True):
        lines += [(), _header(window, width, place), *_latest(window, width)]
        lines += _error_lines(window, width)
    # A command that is to be copied is never cut: the shell's screen wraps it.
    return [*(fitted(line, width) for line in lines), (), *_footer(windows)]


def _status_of_all(windows: Sequence[Window]) -> StyledLine:
    """Return how many windows stand how, each count in the colour of its status."""
    line: StyledLine = ((STATUS_OF_ALL, "bold"),)
    for number, (status, text) in enumerate(status_counts(windows)):
        line += ((", ", "muted"),) * (number > 0) + ((text, _STATUS_STYLES[status]),)
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
    begin = [(span.text, span.role) for span in line.spans if not span.kept]
    end = [(span.text, span.role) for span in line.spans if span.kept]
    return fitted(((INDENT, "plain"), (line.mark, "muted"), *begin), width, tuple(end))


def _wrapped_line(line: WindowLine, width: int) -> list[StyledLine]:
    if line.kind == "tool":  # a preview is one line by nature
        return [_content(line, width)]
    style: Style = "plain" if line.kind == "text" else "steer"
    return [((INDENT, "plain"), (part, style)) for part in _parts(line.mark + line.text, width)]


def _error_lines(window: Window, width: int | None = None) -> list[StyledLine]:
    """Return the error, if there is one; wrapped where a width is given."""
    if not window.error_message:
        return []
    text = f"Error: {window.error_message}"
    parts = (text,) if width is None else _parts(text, width)
    return [((INDENT, "plain"), (part, "error")) for part in parts]


def _parts(text: str, width: int) -> tuple[str, ...]:
    return wrapped(text, max(width - len(INDENT), 1))


def _header(window: Window, width: int, place: int) -> StyledLine:
    """Return the line above a window; where it does not fit, what matters least goes first."""
    icon, name = f"{window_icon(window)} ", window_name(window)
    rests = list(header_rests(window, place, clock=True))
    rest = next((each for each in rests if cells(icon + name + each) <= width), rests[-1])
    name = cut(name, max(width - cells(icon + rest), 1))
    return ((icon, _STATUS_STYLES[window.status]), (name, "name"), (rest, "muted"))


def _footer(windows: Sequence[Window]) -> list[StyledLine]:
    """Return the session ids and what to type next: of one that failed, if one did."""
    known = [window for window in windows if window.title.session_id]
    if not known:
        return []
    failed = [window for window in known if window.status == "error"]
    lines: list[StyledLine] = [((messages.DISPLAY_SESSIONS, "muted"),)]
    lines += [
        ((f"    {window_name(window)}: {window.title.session_id}", "muted"),) for window in known
    ]
    next_command = messages.display_next((failed or known)[0].title.session_id)
    return [*lines, ((next_command, "muted"),)]


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
