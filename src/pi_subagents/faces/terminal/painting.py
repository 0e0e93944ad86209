"""
Paint windows on a screen of so many columns and rows.

In: windows and how a person wants to see them.  Out: the lines of the screen, each one fitting;
nothing here touches a terminal.  Only what is visible is worked out, so that a screen costs about
the same however much the sub-agents say.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.faces.terminal import messages
from pi_subagents.faces.terminal.cells import cells, cut, wrapped
from pi_subagents.faces.terminal.sharing import Claim, share
from pi_subagents.faces.terminal.styled import fitted
from pi_subagents.view.window_view import (
    STATUS_OF_ALL,
    header_parts,
    header_rests,
    places,
    shown_lines,
    status_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pi_subagents.faces.terminal.styled import Style, StyledLine
    from pi_subagents.view.window import Window, WindowLine, WindowStatus

INDENT = "  "
AROUND = 2  # rows for the status above and the keys below
_STATUS_STYLES: Mapping[WindowStatus, Style] = {
    "queued": "muted", "running": "running", "completed": "done", "error": "error",
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
    contents = [_latest(window, width) + _error_line(window) for window in windows]
    claims = [
        Claim(window.status, len(content))
        for window, content in zip(windows, contents, strict=True)
    ]
    waiting = places(windows)
    shares = share(claims, room)
    roomy = len(windows) * 2 - 1 + sum(claim.rows for claim in claims) <= room
    lines: list[StyledLine] = []
    for index, (window, content) in enumerate(zip(windows, contents, strict=True)):
        rows = shares.rows[index]
        if rows is None:
            continue
        lines += [()] if roomy and lines else []
        lines.append(_header(window, width, waiting[index]))
        lines += content[len(content) - rows :]
    if shares.left_out:
        lines.append(((messages.display_left_out(shares.left_out), "muted"),))
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


def _error_line(window: Window) -> list[StyledLine]:
    return [((INDENT, "plain"), (text, "error")) for text in _error(window)]


def _error_lines(window: Window, width: int) -> list[StyledLine]:
    return [
        ((INDENT, "plain"), (part, "error"))
        for text in _error(window)
        for part in _parts(text, width)
    ]


def _error(window: Window) -> list[str]:
    return [f"Error: {window.error_message}"] if window.error_message else []


def _parts(text: str, width: int) -> tuple[str, ...]:
    return wrapped(text, max(width - len(INDENT), 1))


def _header(window: Window, width: int, place: int) -> StyledLine:
    """Return the line above a window; where it does not fit, what matters least goes first."""
    told = header_parts(window)
    icon, name = f"{told.icon} ", told.name
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
        ((f"    {header_parts(window).name}: {window.title.session_id}", "muted"),)
        for window in known
    ]
    next_command = messages.display_next((failed or known)[0].title.session_id)
    return [*lines, ((next_command, "muted"),)]
