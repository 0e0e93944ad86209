"""
What a run waits for, kept on its desk: questions of its child, its time held meanwhile; a limit.

In: the events of the run before they are journaled, so that whoever reads of a question finds it.
Out: the desk's file of what is waited for, and word whether a question is.  An answer is a file
on the desk, given to the child by the engine's conversation; the first one counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.question import WaitingFor, waiting_for
from pi_subagents.supervisor import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.store.desk import Desk


class Waits:
    """What the run waits for now."""

    def __init__(self, desk: Desk, hold: Callable[[bool], None]) -> None:
        self._desk = desk
        self._hold = hold
        self._open: dict[str, WaitingFor] = {}
        self._admission: WaitingFor | None = None

    def for_admission(self, waiting: WaitingFor | None) -> None:
        """Show what a child has to wait for before it may be started; None: nothing any more."""
        self._admission = waiting
        self._note()

    def note(self, event: ev.Event, time_ms: int) -> None:
        """Take an event into account, if it is about a question."""
        match event:
            case ev.Asked():
                self._open[event.number] = waiting_for(event, time_ms)
            case ev.Replied(question, ev.GIVEN | ev.UNANSWERED) if question in self._open:
                del self._open[question]
            case _:
                return
        self._note()
        self._hold(bool(self._open))

    def _note(self) -> None:
        before = () if self._admission is None else (self._admission,)
        self._desk.note_waits((*before, *self._open.values()))


def send_answer(conversation: Conversation, desk: Desk, number: str) -> list[ev.Event]:
    """Give the child the answer of that number; return what is to be journaled about it."""
    try:
        question, text = desk.read_reply(number)
    except (OSError, ValueError):
        return [ev.Replied("", ev.REFUSED, "", messages.ANSWER_UNREADABLE, number)]
    conversation.answer(question, number, text)
    return conversation.take_news()
