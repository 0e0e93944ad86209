"""
The list of runs as a widget: paints the lines that are in view, and no others.

In: rows, each with whether it follows one of its session.  Out: the run that is chosen, and
messages when another is chosen or one is opened.  The choice follows its run in another order.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.once import padded
from pi_subagents.view.fleet_table import cell_text, layout
from pi_subagents.view.states import state_of

if TYPE_CHECKING:
    from rich.style import Style
    from textual import events
    from textual.binding import BindingType

    from pi_subagents.core.run.record import RunRecord

HEADING_LINES = 1
# Seen without colours too: what is chosen has a mark in front of it.
CHOSEN, NOT_CHOSEN = "▌", " "


class FleetList(ScrollView, can_focus=True):
    """Runs under one another, those of a session together."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "fleet--heading", "fleet--chosen", "fleet--working", "fleet--good", "fleet--bad",
        "fleet--stopped", "fleet--lost", "fleet--quiet", "fleet--warning",
    }  # fmt: skip
    DEFAULT_CSS = """
    FleetList { height: 1fr; scrollbar-size: 0 1; }
    FleetList > .fleet--heading { text-style: bold; color: $text-muted; }
    FleetList > .fleet--chosen { background: $surface-lighten-2; text-style: bold; }
    FleetList > .fleet--working { color: #56b4e9; text-style: bold; }
    FleetList > .fleet--good { color: #33c19a; }
    FleetList > .fleet--bad { color: #ff7a6b; text-style: bold; }
    FleetList > .fleet--warning { color: #f0e442; }
    FleetList > .fleet--stopped { color: #cc79a7; }
    FleetList > .fleet--lost { color: #9d8cff; }
    FleetList > .fleet--quiet { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "edge(0)", show=False),
        Binding("end,G", "edge(-1)", show=False),
    ]

    class Chosen(Message):
        """Another run is chosen, or none."""

    class Opened(Message):
        """The chosen run is to be looked at."""

    def __init__(self) -> None:
        super().__init__(id="fleet")
        self._lines: list[tuple[RunRecord, bool]] = []
        self._place = 0
        self.empty_text = messages.LOADING

    @property
    def chosen(self) -> RunRecord | None:
        """The run that actions are meant for."""
        return self._lines[self._place][0] if self._lines else None

    def show(self, lines: list[tuple[RunRecord, bool]]) -> None:
        """
        Replace the content; the chosen run stays chosen where it is still there.

        It stays in view, too, unless the reader scrolled away from it.
        """
        before = self.chosen
        was_in_view = self._place in self._in_view
        self._lines = lines
        ids = [row.run_id for row, _ in lines]
        if before is not None and before.run_id in ids:
            self._place = ids.index(before.run_id)
        self._place = max(min(self._place, len(ids) - 1), 0)
        self.virtual_size = Size(0, len(ids) + HEADING_LINES)  # as wide as there is room
        if was_in_view:
            self._keep_in_view()
        self.refresh()
        self.post_message(self.Chosen())

    def choose(self, place: int) -> None:
        """Choose the run at a place."""
        if self._lines:
            self._place = max(min(place, len(self._lines) - 1), 0)
            self._keep_in_view()
            self.refresh()
            self.post_message(self.Chosen())

    def action_move(self, by: int) -> None:
        """Choose the next run, or the one before."""
        self.choose(self._place + by)

    def action_page(self, by: int) -> None:
        """Choose a run one screen further."""
        self.choose(self._place + by * max(self.size.height - HEADING_LINES, 1))

    def action_edge(self, place: int) -> None:
        """Choose the first run or the last."""
        self.choose(place if place >= 0 else len(self._lines) - 1)

    def on_click(self, event: events.Click) -> None:
        """Choose the run under the mouse; a second click opens it."""
        place = event.y - HEADING_LINES + self.scroll_offset.y
        if event.y < HEADING_LINES or place >= len(self._lines):
            return
        self.choose(place)
        if event.chain > 1:
            self.post_message(self.Opened())

    def on_resize(self) -> None:
        """Keep the chosen run where it can be seen."""
        self._keep_in_view()

    def render_line(self, y: int) -> Strip:
        """Paint one line of the screen."""
        columns = layout(self._width - len(CHOSEN))
        base = self.rich_style
        if y < HEADING_LINES:
            heading = " ".join(padded(cell.heading, cell) for cell in columns)
            style = base + self.get_component_rich_style("fleet--heading", partial=True)
            return self._strip([Segment(f" {heading}", style)], base)
        place = y - HEADING_LINES + self.scroll_offset.y
        if place >= len(self._lines):
            text = f" {self.empty_text}" if y == HEADING_LINES and not self._lines else ""
            return self._strip([Segment(text, base)], base)
        row, follows = self._lines[place]
        chosen = place == self._place
        if chosen:
            base += self.get_component_rich_style("fleet--chosen", partial=True)
        role = state_of(row).role
        marked = base + self.get_component_rich_style(f"fleet--{role}", partial=True)
        now_ms = time.time_ns() // 1_000_000
        segments = [Segment(CHOSEN if chosen else NOT_CHOSEN, marked)]
        for cell in columns:
            text = padded(cell_text(row, cell, now_ms, follows=follows), cell)
            segments.append(Segment(f"{text} ", marked if cell.column == "status" else base))
        return self._strip(segments, base)

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _strip(self, segments: list[Segment], base: Style) -> Strip:
        return Strip(segments).adjust_cell_length(self._width, base)

    @property
    def _in_view(self) -> range:
        """The places that can be seen."""
        top = self.scroll_offset.y
        return range(top, top + max(self.size.height - HEADING_LINES, 1))

    def _keep_in_view(self) -> None:
        seen = self._in_view
        if self._place < seen.start:
            self.scroll_to(y=self._place, animate=False)
        elif self._place >= seen.stop:
            self.scroll_to(y=self._place - len(seen) + 1, animate=False)
