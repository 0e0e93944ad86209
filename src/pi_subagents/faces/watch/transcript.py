"""
One run from near: what happened so far, and what happens now.

In: a run directory, a row for its heading, a word whenever something changed.  Out: a screen that
stays at the end while the reader does.  Memory is bounded by `MAX_LINES`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer, RichLog, Static

from pi_subagents.faces.watch import messages
from pi_subagents.service.run_contents import follow_transcript, task_of
from pi_subagents.view.fleet import ending
from pi_subagents.view.fleet_table import heading

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from pi_subagents.core.run.record import RunRecord

MAX_LINES = 5000


class Transcript(Screen[None]):
    """The transcript of one run, followed."""

    CSS = """
    Transcript #heading { height: auto; max-height: 2; background: $surface-lighten-1; }
    Transcript #ending { height: auto; max-height: 4; padding: 0 1; display: none; }
    Transcript #ending.said { display: block; }
    Transcript RichLog { height: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,o,ctrl+o", "app.pop_screen", "Back"),
        Binding("end,G", "follow", "Follow", show=False),
        Binding("ctrl+c", "leave", show=False),
    ]

    def __init__(self, row: RunRecord) -> None:
        super().__init__()
        self.row = row
        self._tail = follow_transcript(row)
        self._kept: deque[str] = deque(maxlen=MAX_LINES)
        self._is_ready = False

    def compose(self) -> ComposeResult:
        """Show a heading, the transcript and the keys."""
        yield Static(id="heading", markup=False)
        yield Static(id="ending", markup=False)
        yield RichLog(wrap=True, min_width=1, max_lines=MAX_LINES, auto_scroll=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Read what is there."""
        self._is_ready = True
        self.query_one(RichLog).focus()
        self.call_after_refresh(lambda: self.look(self.row))

    def on_resize(self) -> None:
        """Wrap anew: a log keeps lines as they were when they were written."""
        log = self.query_one(RichLog)
        following = log.is_vertical_scroll_end
        log.clear()
        self._write(self._kept)
        if following:
            self.call_after_refresh(log.scroll_end, animate=False)

    def look(self, row: RunRecord) -> None:
        """Take what is new of the run."""
        self.row = row
        # Changes may come before the screen did, whose beginning takes them, or while it goes.
        if not self._is_ready or not self.query("#heading"):
            return
        self.tick()
        log = self.query_one(RichLog)
        following = log.is_vertical_scroll_end
        first = not self._kept
        lines = self._tail.new_lines()
        if first and self._tail.skipped:
            lines.insert(0, messages.EARLIER_LEFT_OUT)
        if first:
            lines[:0] = messages.opening(task_of(row))
        self._kept.extend(lines)
        self._write(lines)
        if following or first:
            self.call_after_refresh(log.scroll_end, animate=False)

    def tick(self) -> None:
        """Say how it stands: a clock that goes on, or how it ended and why."""
        for line in self.query("#heading").results(Static):
            line.update(heading(self.row, time.time_ns() // 1_000_000))
        for lines in self.query("#ending").results(Static):
            said = "\n".join(ending(self.row))
            lines.update(said)
            lines.set_class(bool(said), "said")

    def action_leave(self) -> None:
        """Leave altogether, as everywhere."""
        self.app.exit()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.query_one(RichLog).scroll_end(animate=False)

    def _write(self, lines: deque[str] | list[str]) -> None:
        log = self.query_one(RichLog)
        for line in lines:
            log.write(Text(line))
