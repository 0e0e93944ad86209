"""What simple conversations have in common: they wait for nothing and keep their news."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages

if TYPE_CHECKING:
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.usage import Usage


class PlainConversation:
    """A conversation with a child that serves one run and hears nothing after its prompt."""

    repeated: ClassVar[bytes] = b"\n"  # no line begins so
    can_steer: ClassVar[bool] = False
    can_abort: ClassVar[bool] = False
    can_ask: ClassVar[bool] = False
    waiting: ClassVar[bool] = False
    can_go_on: ClassVar[bool] = False

    def __init__(self) -> None:
        self.over = self.unasked = self.aborted = self.interfered = False
        self.usage: Usage | None = None
        self._news: list[Event] = []
        self._refusal = ""

    def take_news(self) -> list[Event]:
        """Return what is to be journaled, once."""
        news, self._news = self._news, []
        return news

    def refuse(self, reason: str) -> None:
        """End a conversation that came to nothing."""
        self._refusal, self.over = reason, True

    def why_nothing(self, exit_code: int | None) -> str:
        """Return why the child did not work on its prompt, if that is known."""
        del exit_code
        return self._refusal

    def advice(self, last_words: str) -> tuple[str, ...]:  # noqa: ARG002 - says nothing to it
        """Know of nothing."""
        return ()

    def unfinished(self) -> tuple[Event, ...]:
        """Know of nothing: every line is whole."""
        return ()

    def hears_idle(self, line: bytes) -> None:
        """Whatever a child says between two runs makes it unfit for another."""
        del line
        self.interfered = True

    def answer(self, question: str, reply: str, text: str) -> None:
        """Refuse an answer: nothing was asked."""
        reason = run_messages.NO_SUCH_QUESTION
        self._news.append(ev.Replied(question, ev.REFUSED, text, reason, reply))

    def go_on(self, text: str) -> None:
        """Nothing more can be asked."""
        raise NotImplementedError(text)

    def abort(self) -> None:
        """Say nothing: only signals reach the child."""

    def deadline(self) -> float | None:
        """Wait for nothing in particular."""
        return None

    def check_time(self, now: float) -> None:
        """Give up nothing."""
