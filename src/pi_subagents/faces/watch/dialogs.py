"""
Questions in front of the list: whether to stop, what to say or go on with, which keys there are.

In: what to ask about.  Out: the answer, or nothing where the user turned back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Button, Static, TextArea

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

KEYS = """\
⏎ o ^O  open the transcript, follow it
Esc     back
/       filter by words (Esc clears)
f       the next filter: all, active, ...
s       stop the run (asks first)
m       send it a message while it works
a       answer what it asks
r       go on with it: a new prompt
c       copy the run id
d       open the run directory
v       see what it changed in its worktree
t       take that into the checkout (asks)
x       throw it away (asks)
↑ ↓     choose; also j k PgUp Home End
q ^C    leave; runs go on

Mouse: click, double click to open,
wheel; the words above and below the
list can be clicked.

○ waiting    ● running    ◌ stopping
? asks, and waits for an answer
✓ completed  ⚠ completed, no answer
✗ failed     ■ stopped    ! interrupted"""

BOX = """
    align: center middle;
    & > .box {
        width: 60; max-width: 96%; height: auto; max-height: 90%;
        padding: 0 1; border: round $foreground 60%; background: $surface;
    }
    & Horizontal { height: auto; align-horizontal: right; }
    & Button { min-width: 10; margin-left: 1; }
    & TextArea { height: 6; margin: 1 0 0 0; }
    & .hint { color: $text-muted; }
"""


class StopQuestion(ModalScreen[bool]):
    """Ask before a run is ended."""

    CSS = f"StopQuestion {{ {BOX} }}"
    YES = "Stop"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)"),
        Binding("n,escape,q", "answer(False)"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question with both answers."""
        with Vertical(classes="box"):
            yield Static(self._question, markup=False)
            with Horizontal():
                yield Button(self.YES, id="yes", compact=True)
                yield Button("Cancel", id="no", compact=True)

    def on_mount(self) -> None:
        """Let Enter do no harm."""
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take a click for an answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 - textual's own
        """Take a key for an answer."""
        self.dismiss(answer)


class TakeQuestion(StopQuestion):
    """Ask before changes are taken."""

    CSS = f"TakeQuestion {{ {BOX} }}"
    YES = "Apply"


class DiscardQuestion(StopQuestion):
    """Ask before changes are thrown away."""

    CSS = f"DiscardQuestion {{ {BOX} }}"
    YES = "Discard"


class Prompt(TextArea):
    """Several lines, of which Enter makes an answer."""

    class Sent(Message):
        """It is an answer."""

    def on_key(self, event: events.Key) -> None:
        """
        Take Enter for the end, Ctrl+J for another line.

        Not by bindings with priority: those would overtake letters that are still on their way.
        """
        if event.key not in ("enter", "ctrl+j"):
            return
        event.stop()
        event.prevent_default()
        if event.key == "enter":
            self.post_message(self.Sent())
        else:
            self.insert("\n")


class ResumeQuestion(ModalScreen[str | None]):
    """Ask what a session should do now."""

    CSS = f"ResumeQuestion {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "turn_back")]
    HINT = "Enter: start · Ctrl+J: new line · Esc: back"

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Show the question with room for an answer."""
        with Vertical(classes="box"):
            yield Static(self._question, markup=False, classes="question")
            yield Prompt(id="prompt")
            yield Static(self.HINT, classes="hint")

    def on_prompt_sent(self) -> None:
        """Answer with what was typed, if anything was."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)

    def action_turn_back(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


class SteerQuestion(ResumeQuestion):
    """Ask what a sub-agent at work is to know."""

    CSS = f"SteerQuestion {{ {BOX} }}"  # what is inherited counts for the other class only
    HINT = "Enter: send · Ctrl+J: new line · Esc: back"


class AnswerQuestion(ResumeQuestion):
    """Show what a sub-agent asks, and take the answer."""

    CSS = f"AnswerQuestion {{ {BOX} & .question {{ max-height: 14; overflow-y: auto; }} }}"
    HINT = SteerQuestion.HINT


class Help(ModalScreen[None]):
    """Show which keys there are."""

    CSS = f"Help {{ {BOX} }}"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss(None)", "Back")
    ]

    def compose(self) -> ComposeResult:
        """Show them."""
        with VerticalScroll(classes="box"):
            yield Static(KEYS, markup=False)
