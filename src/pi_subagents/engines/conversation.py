"""
The engine door, the supervisor's half: what a conversation with a child is.

Standard library only, pure, clock-free, no input or output of its own.  It is given the child's
lines, what is asked of it and the time; it returns the events of the run, and knows what to send,
when to be woken, whether the run is over, and why it refused.  A file of its own, because every
supervisor loads it before its child can start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.usage import Usage


class Channel(Protocol):
    """Where a conversation writes: what it sends, the child reads."""

    def send(self, line: bytes) -> None:
        """Give the child a line, now or as soon as it reads on."""


@value
class Beginning:
    """
    How a conversation begins: the prompt, and the file of its own session, if it is to have one.

    `on_ready` is called when the child is up and has done nothing yet.  One that `is_up`, because
    it served other runs, has no reason to keep us waiting.  Where there is no time for answers, it
    may ask nothing.  `on_session` is given what has to be kept of a session that is its own, for
    another child to go on with, where the child itself writes no file of ours.
    """

    prompt: str
    session: str | None = None
    on_ready: Callable[[], None] | None = None
    on_session: Callable[[bytes], None] | None = None
    is_up: bool = False
    answer_within_s: float = 0
    orders: str = ""  # what else is wanted of the child, in its engine's own words; empty: nothing


class Conversation(Protocol):
    """What one run sends to its child, and reads from it."""

    # Lines that begin so only repeat what comes again, whole: the raw log is spared them.
    repeated: ClassVar[bytes]
    can_steer: ClassVar[bool]  # messages reach a child at work
    can_abort: ClassVar[bool]  # the child can be asked to stop
    can_ask: ClassVar[bool]  # the child's questions can wait for an answer
    can_go_on: ClassVar[bool]  # the child can be asked more once it is done
    aborted: bool  # the child has done what an abort asked of it
    interfered: bool  # it answered what nobody here asked
    usage: Usage | None  # the child's own account of the whole run, once it gave one

    @property
    def over(self) -> bool:
        """Return whether nothing more is to be read."""

    @property
    def unasked(self) -> bool:
        """Return whether the child has not been given the prompt yet."""

    def begin(self, beginning: Beginning) -> None:
        """Send the first command."""

    def hears(self, line: bytes, now: float) -> tuple[Event, ...]:
        """
        Take one line of the child; return the events of this run in it, if any.

        An engine that says so in its capabilities adds a `Limited` after a message that failed
        because its provider answers no more for now (`core/run/limited.py` knows the texts).
        """

    def take_news(self) -> list[Event]:
        """Return what else is to be journaled, once."""

    def steer(self, number: str, text: str) -> None:
        """Pass a message on, or refuse it; the news show which."""

    @property
    def waiting(self) -> bool:
        """Return whether a question of the child waits for its answer."""

    def answer(self, question: str, reply: str, text: str) -> None:
        """Give the child an answer, or refuse it; the news show which."""

    def go_on(self, text: str) -> None:
        """Ask more in the same session, once it was over; only where that is possible."""

    def abort(self) -> None:
        """Ask the child to stop what it does; questions that wait are closed."""

    def refuse(self, reason: str) -> None:
        """End a conversation that came to nothing."""

    def why_nothing(self, exit_code: int | None) -> str:
        """Return why the child did not work on its prompt, if that is known."""

    def advice(self, last_words: str) -> tuple[str, ...]:
        """Return what a user can do about what a child said at last, if that is known."""

    def deadline(self) -> float | None:
        """Return when the child is waited for no longer."""

    def check_time(self, now: float) -> None:
        """Give up waiting where it was long enough."""

    def unfinished(self) -> tuple[Event, ...]:
        """Return what the child had begun to say or do when its output ended."""

    def hears_idle(self, line: bytes) -> None:
        """Take one line of a child between two runs; `interfered` then shows that it is unfit."""
