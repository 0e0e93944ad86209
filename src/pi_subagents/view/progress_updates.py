"""
What a host repeats in its own stream while sub-agents work: how they stand, and what they do.

In: the windows of a call and what happens in its runs.  Out: updates, each of them the whole of
what is to be shown now, of one bounded size whatever the children say; and an Allowance that says
whether another one may follow.  A host repeats the call's arguments with every update and joins
none of them, so the pace is bounded by bytes, the arguments included.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.run.progress import ProgressFormatter
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.core.value import replace
from pi_subagents.view.picture import fair_shares, latest_rows, picture_text, row_bytes
from pi_subagents.view.preview import shortened_line
from pi_subagents.view.window_picture import line_row, window_picture
from pi_subagents.view.window_view import host_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.run.events import Event
    from pi_subagents.view.window import Window, WindowLine

ProgressUpdate = dict[str, object]

MAX_LINE = 200
MAX_LINES_BYTES = 4096  # of all windows together
MAX_WORDS = 2000
MAX_WAITING = 32
BURST_BYTES = 256 * 1024
BYTES_PER_S = 16 * 1024  # about what a model's own words take


class Allowance:
    """How many bytes of updates may be sent: some at once, and so many each second."""

    def __init__(self, burst: int = BURST_BYTES, per_s: int = BYTES_PER_S) -> None:
        self._burst = burst
        self._per_s = per_s
        self._left = float(burst)
        self._at_s: float | None = None

    def has_room(self, now_s: float) -> bool:
        """Return whether one more may be sent, however large it is: the next one waits for it."""
        if self._at_s is not None:
            grown = self._left + (now_s - self._at_s) * self._per_s
            self._left = min(grown, self._burst)
        self._at_s = now_s
        return self._left > 0

    def take(self, size: int) -> None:
        """Take note that so many bytes were sent."""
        self._left -= size


class Updates:
    """What a host repeats of one call."""

    def note(self, index: int, what: Event | RunResult) -> None:
        """Take what happened in the run of that place, where the windows are not enough."""

    def next(self, windows: Sequence[Window], max_lines: int) -> ProgressUpdate | None:
        """Return the next update, if there is anything new."""
        raise NotImplementedError

    def skip(self) -> None:
        """Give up what is out of date, since there was no room for it."""


class WindowUpdates(Updates):
    """The windows of a delegation, as often as one of them has another line or status."""

    def __init__(self) -> None:
        self._sent: object = None

    def next(self, windows: Sequence[Window], max_lines: int) -> ProgressUpdate | None:
        """Return the windows as they are, if that is news; a clock alone is none."""
        state = [(each.status, each.lines, each.error_message) for each in windows]
        if state == self._sent:
            return None
        self._sent = state
        lines = _latest_lines(windows)
        rows = [[line_row(line) for line in each] for each in lines]
        *parts, _footer = window_picture([_short(each) for each in windows], rows, max_lines)
        shown = [[{"text": line.text, "kind": line.kind} for line in each] for each in lines]
        return _update(picture_text(parts), windows, max_lines, shown)


class WordUpdates(Updates):
    """What each sub-agent says or does, in the words of the progress formatter, one by one."""

    def __init__(self) -> None:
        self._formatters: dict[int, ProgressFormatter] = {}
        self._latest: dict[int, str] = {}
        self._waiting: deque[tuple[int, str]] = deque(maxlen=MAX_WAITING)

    def note(self, index: int, what: Event | RunResult) -> None:
        """Put an event into words, if there are any for it."""
        if isinstance(what, RunResult):
            return
        words = printable(self._formatters.setdefault(index, ProgressFormatter()).text(what))
        if words.strip():
            self._waiting.append((index, shortened(words.strip(), MAX_WORDS)))

    def next(self, windows: Sequence[Window], max_lines: int) -> ProgressUpdate | None:
        """Return the oldest words that wait, with the latest ones of other sub-agents."""
        if not self._waiting:
            return None
        index, words = self._waiting.popleft()
        self._latest[index] = words
        if len(windows) == 1:
            return _update(words, windows, max_lines)
        lines = (
            f"{one_line(windows[each].title.name, MAX_NAME_LENGTH)}: {one_line(said, MAX_LINE)}"
            for each, said in sorted(self._latest.items())
        )
        return _update("\n".join(lines), windows, max_lines)

    def skip(self) -> None:
        """Keep only the latest words of each sub-agent."""
        self._waiting = deque(dict(self._waiting).items(), maxlen=MAX_WAITING)


def _short(window: Window) -> Window:
    """Return a window without what is said of its run at length; the answer says it."""
    return replace(window, notes=(), error_message=shortened(window.error_message, MAX_LINE))


def _latest_lines(windows: Sequence[Window]) -> list[list[WindowLine]]:
    """Return the latest lines of each window that have room; one with few leaves it to others."""
    lines = [
        [replace(line, spans=shortened_line(line.spans, MAX_LINE)) for line in window.lines]
        for window in windows
    ]
    rows = [[line_row(line) for line in each] for each in lines]
    shares = fair_shares([sum(map(row_bytes, each)) for each in rows], MAX_LINES_BYTES)
    kept = [len(latest_rows(each, share)) for each, share in zip(rows, shares, strict=True)]
    return [each[len(each) - count :] for each, count in zip(lines, kept, strict=True)]


def _update(
    text: str,
    windows: Sequence[Window],
    max_lines: int,
    lines: Sequence[Sequence[object]] | None = None,
) -> ProgressUpdate:
    rows: list[dict[str, object]] = [
        {
            "name": one_line(window.title.name, MAX_NAME_LENGTH),
            "status": host_status(window),
            "callCount": window.call_count,
            "elapsedMs": window.elapsed_ms,
            "errorMessage": one_line(window.error_message, MAX_NAME_LENGTH) or None,
        }
        for window in windows
    ]
    for row, own in zip(rows, lines or (), strict=False):
        row["lines"] = list(own)
    return {
        "content": [{"type": "text", "text": text}],
        "details": {
            "status": "running",
            "maxLines": max_lines,
            "windows": rows,
            "sessionIds": [window.title.session_id for window in windows],
        },
    }
