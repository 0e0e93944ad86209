"""
Messages for a child at work, on the supervisor's side.

In: the number of a message that waits on the run's desk.  Out: the conversation has it, or a
record says why not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.framing import Line
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import STEER
from pi_subagents.supervisor import messages

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.engines.base import Conversation
    from pi_subagents.store.desk import Desk


def early_messages(desk: Desk) -> list[Frame]:
    """Return a command for each message that came before anybody listened, the oldest first."""
    return [Line(f"{STEER} {number}".encode()) for number in desk.waiting_steers()]


def pass_on(conversation: Conversation, desk: Desk, number: str) -> list[ev.Event]:
    """Give the child the message of that number; return what is to be journaled about it."""
    try:
        text = desk.read_steer(number)
    except (OSError, ValueError):
        return [ev.Steer(number, ev.REFUSED, "", messages.STEER_UNREADABLE)]
    conversation.steer(number, text)
    return conversation.take_news()
