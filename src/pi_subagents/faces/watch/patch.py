"""
What a run changed in its worktree, to be read: a screen with the lines of a patch in its colours.

In: a text.  Out: nothing; whoever reads goes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer, RichLog

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}  # `diff --git`
_OF_A_PATCH = ("+", "-", "@@", "diff --git ")


class ChangesScreen(Screen[None]):
    """The changes of one run."""

    CSS = "ChangesScreen RichLog { height: 1fr; padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,v", "app.pop_screen", "Back")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the lines and the keys."""
        yield RichLog(wrap=True, min_width=1, auto_scroll=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Write them once the size is known."""
        log = self.query_one(RichLog)
        log.focus()
        for line in self._text.split("\n"):
            style = _STYLES[line[0]] if line.startswith(_OF_A_PATCH) else ""
            log.write(Text(line, style))
