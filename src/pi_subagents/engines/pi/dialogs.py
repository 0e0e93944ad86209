"""
The dialogs of one run's extensions, as questions: asked, answered, or closed unanswered.

Clock-free.  In: dialogs that pi opened, answers, the time.  Out: events for the journal, and what
closes each dialog, sent once.  Where a run may ask nothing, every dialog is dismissed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import NO, YES, asked, meant_option
from pi_subagents.engines.pi import messages, rpc

if TYPE_CHECKING:
    from pi_subagents.engines.conversation import Channel

TITLE_WIDTH = 80
MAX_QUESTIONS = 200  # of one run: while it asks, its time stands still


class OpenDialogs:
    """The dialogs that wait, each with the number of its question and the time it has."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.within_s = 0.0  # how long a dialog waits; 0: nobody is asked
        self._open: dict[str, tuple[rpc.DialogAsked, float]] = {}
        self._asked = 0

    @property
    def waiting(self) -> bool:
        """Return whether a question waits for its answer."""
        return bool(self._open)

    def opened(self, dialog: rpc.DialogAsked, now: float, *, answerable: bool) -> ev.Event:
        """Return the question of a dialog, or the note that it was dismissed."""
        if not (self.within_s and answerable) or self._asked >= MAX_QUESTIONS:
            self._channel.send(rpc.dismissal(dialog.dialog_id))
            title = one_line(dialog.title, TITLE_WIDTH)
            if self.within_s and not answerable:
                return ev.Note(messages.note_dialog_too_early(dialog.method, title))
            return ev.Note(messages.note_dialog(dialog.method, title))
        self._asked += 1
        within_s = min(self.within_s, dialog.timeout_s or self.within_s)
        self._open[str(self._asked)] = dialog, now + within_s
        return asked(str(self._asked), dialog.text, _options(dialog), within_s)

    def answer(self, question: str, reply: str, text: str) -> ev.Replied:
        """Give an answer to the child; the first one counts."""
        if question not in self._open:
            known = question.isdecimal() and 1 <= int(question[:9]) <= self._asked
            reason = run_messages.ANSWER_TOO_LATE if known else run_messages.NO_SUCH_QUESTION
            return ev.Replied(question, ev.REFUSED, text, reason, reply)
        dialog, _ = self._open[question]
        options = _options(dialog)
        if (said := meant_option(options, text) if options else text) is None:
            reason = run_messages.not_an_option(options)
            return ev.Replied(question, ev.REFUSED, text, reason, reply)
        del self._open[question]
        self._channel.send(rpc.dialog_answer(dialog, said, confirmed=said == YES))
        return ev.Replied(question, ev.GIVEN, said, "", reply)

    def deadline(self) -> float | None:
        """Return when the next question has waited long enough."""
        return min((due for _, due in self._open.values()), default=None)

    def overdue(self, now: float) -> list[ev.Event]:
        """Close what has waited long enough."""
        due = [each for each, (_, until) in self._open.items() if now >= until]
        return [self._close(each, run_messages.NOBODY_ANSWERED) for each in due]

    def close(self, reason: str) -> list[ev.Event]:
        """Close them all."""
        return [self._close(each, reason) for each in list(self._open)]

    def _close(self, question: str, reason: str) -> ev.Event:
        dialog, _ = self._open.pop(question)
        self._channel.send(rpc.dismissal(dialog.dialog_id))
        return ev.Replied(question, ev.UNANSWERED, reason=reason)


def _options(dialog: rpc.DialogAsked) -> tuple[str, ...]:
    return (YES, NO) if dialog.method == "confirm" else dialog.options
