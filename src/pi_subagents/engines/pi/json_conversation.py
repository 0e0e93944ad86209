"""
The conversation of one run with a pi in JSON mode: the child reads its prompt, we only listen.

Its standard input is the prompt and ends there, so that nothing can be said to it afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.records import REPEATED, decode_pi_line
from pi_subagents.engines.plain import PlainConversation

if TYPE_CHECKING:
    from pi_subagents.engines.base import Beginning


class JsonConversation(PlainConversation):
    """What one run hears from its child; whatever it would say comes too late."""

    repeated: ClassVar[bytes] = REPEATED

    def begin(self, beginning: Beginning) -> None:
        """Say nothing: the child reads its prompt by itself."""

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:
        """Take one line of the child; every one is an event."""
        del now
        return (decode_pi_line(line),)

    def steer(self, number: str, text: str) -> None:
        """Refuse a message: the child would not hear it."""
        self._news.append(ev.Steer(number, ev.REFUSED, text, messages.STEER_JSON_MODE))
