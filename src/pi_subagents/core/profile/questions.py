"""
The questions that a wizard can ask, and the small port through which any host asks them.

In: one question.  Out: its answer, SKIP or ESCAPE (the field is left out; the key may be pressed
again to leave), BACK (the question before) or CANCEL (nothing is saved).
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from pi_subagents.core.value import value


class Gesture(Enum):
    """What a person may do in place of an answer."""

    SKIP = "skip"
    ESCAPE = "escape"
    BACK = "back"
    CANCEL = "cancel"


SKIP = Gesture.SKIP
ESCAPE = Gesture.ESCAPE
BACK = Gesture.BACK
CANCEL = Gesture.CANCEL


SKIPS = "skip"


@value
class Choose:
    """One of the options, by its place; `escape` is what that key does, if it does not cancel."""

    title: str
    options: tuple[str, ...]
    default: int = 0  # where the cursor stands
    escape: str = SKIPS


@value
class Confirm:
    """
    Yes or no; `text` is shown above the question, as it is.

    With `enter_is_default` a face must not offer a yes first where the default is no.
    """

    title: str
    question: str
    default: bool
    text: str = ""
    enter_is_default: bool = False
    escape: str = SKIPS


@value
class Text:
    """
    A line; `offers` are known answers, or known items where it is a list with commas.

    A `note` says why the question is asked again.
    """

    title: str
    prefill: str = ""
    offers: tuple[str, ...] = ()
    is_list: bool = False
    note: str = ""
    escape: str = SKIPS


@value
class LongText:
    """A text of any number of lines."""

    title: str
    prefill: str = ""


WizardQuestion = Choose | Confirm | Text | LongText
WizardAnswer = int | bool | str | Gesture


class Asker(Protocol):
    """Someone who can be asked: a terminal, or the dialogs of another host."""

    def choose(self, question: Choose) -> int | Gesture:
        """Return the place of the chosen option."""

    def confirm(self, question: Confirm) -> bool | Gesture:
        """Return whether the answer was yes."""

    def text(self, question: Text) -> str | Gesture:
        """Return the line."""

    def long_text(self, question: LongText) -> str | Gesture:
        """Return the text."""


def put(ask: Asker, question: WizardQuestion) -> WizardAnswer:
    """Ask one question, whatever its kind."""
    match question:
        case Choose():
            return ask.choose(question)
        case Confirm():
            return ask.confirm(question)
        case Text():
            return ask.text(question)
        case LongText():
            return ask.long_text(question)
