"""
Draw on a terminal, or write as JSON, when runs did what: a bar for each, call by call.

In: records.  Out: lines that fit the terminal; colours where they are welcome, and other characters
where those of Unicode cannot be encoded.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.record import short_id
from pi_subagents.faces.cli.console import width
from pi_subagents.faces.cli.table import COLOURS
from pi_subagents.faces.terminal.cells import cells, cut
from pi_subagents.view.time_spent import part_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.faces.cli.console import Console
    from pi_subagents.view.timeline import Bar, Timeline
    from pi_subagents.view.timeline_bars import Marks, PieceKind

Piece = tuple[str, dict[str, object]]
MOST_OF_A_TITLE = 30
LEAST_OF_A_TITLE = 6
LEAST_OF_A_BAR = 10
WIDEST = 120  # cells of a bar, however wide the terminal
GAP = "  "
PIECE_COLOURS: Mapping[PieceKind, str] = {
    "work": "cyan", "tool": "blue", "failed": "red", "wait": "bright_black", "limit": "yellow",
}  # fmt: skip


def print_timelines(console: Console, found: Iterable[RunRecord]) -> None:
    """Print the runs as bars, with a heading for each call."""
    from pi_subagents.view.timeline_bars import legend

    marks = _marks()
    for timeline in _timelines(found):
        console.answer(_heading(timeline), bold=True)
        for line in _lines(timeline, marks):
            console.answer_in_pieces(line)
    console.answer(legend(marks), dim=True)


def timelines_to_json(found: Iterable[RunRecord]) -> dict[str, object]:
    """Return the same for scripts."""
    from pi_subagents.view.timeline import timeline_to_json

    return {"timelines": [timeline_to_json(each) for each in _timelines(found)]}


def _timelines(found: Iterable[RunRecord]) -> list[Timeline]:
    from pi_subagents.service.run_contents import bar_for
    from pi_subagents.view.timeline import timelines

    return timelines(map(bar_for, found))


def _heading(timeline: Timeline) -> str:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(timeline.begin_ms / 1000))
    took = part_length(timeline.end_ms - timeline.begin_ms)
    count = len(timeline.bars)
    runs = "1 run" if count == 1 else f"{count} runs"
    call = f"call {short_id(timeline.call_id)}, " if timeline.call_id else ""
    return f"{when}  {call}{runs}, {took}"


def _lines(timeline: Timeline, marks: Marks) -> Iterable[list[Piece]]:
    from pi_subagents.view.timeline_bars import draw

    left = [f"{short_id(bar.run_id)} {bar.state.sign}" for bar in timeline.bars]
    took = [_took(bar) for bar in timeline.bars]
    titles = [one_line(bar.title, MOST_OF_A_TITLE) for bar in timeline.bars]
    fixed = max(map(cells, left)) + max(map(cells, took)) + 3 * len(GAP)
    room = width(sys.stdout) - fixed
    longest = max(map(cells, titles))
    titled = max(min(longest, room - LEAST_OF_A_BAR, room // 2), LEAST_OF_A_TITLE)
    bar_width = min(max(room - titled, LEAST_OF_A_BAR), WIDEST)
    for bar, sign, title, time_taken in zip(timeline.bars, left, titles, took, strict=True):
        colour = COLOURS[bar.state.role]
        shown = cut(title, titled)
        name = f"{GAP}{shown}{' ' * (titled - cells(shown))}{GAP}"
        yield [
            (sign, {"fg": colour} if colour else {}),
            (name, {}),
            *((text, _style(kind)) for text, kind in draw(bar, timeline, bar_width, marks)),
            (f"{GAP}{time_taken}", {}),
        ]


def _took(bar: Bar) -> str:
    return part_length(bar.end_ms - bar.begin_ms)


def _style(kind: PieceKind) -> dict[str, object]:
    colour = PIECE_COLOURS.get(kind)
    return {"fg": colour} if colour else {}


def _marks() -> Marks:
    """Return the characters that standard output can encode."""
    from pi_subagents.view.timeline_bars import ASCII_MARKS, MARKS

    try:
        "".join(MARKS.values()).encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII_MARKS
    return MARKS
