"""
Messages for a child at work, on the supervisor's side.

In: the number of a message that waits on the run's desk.  Out: the conversation has it, or a
record says why not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents import child_messages
from pi_subagents.core import events as ev
from pi_subagents.core.framing import Line
from pi_subagents.core.run_spec import RPC_MODE, STEER

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.core.rpc_talk import RpcTalk
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.disk.desk import Desk


def early_messages(desk: Desk) -> list[Frame]:
    """Return a command for each message that came before anybody listened, the oldest first."""
    return [Line(f"{STEER} {number}".encode()) for number in desk.waiting_steers()]


def pass_on(talk: RpcTalk | None, desk: Desk, number: str) -> list[ev.Event]:
    """Give the child the message of that number; return what is to be journaled about it."""
    try:
        text = desk.read_steer(number)
    except (OSError, ValueError):
        return [ev.Steer(number, ev.REFUSED, "", child_messages.STEER_UNREADABLE)]
    if talk is None:
        return [ev.Steer(number, ev.REFUSED, text, child_messages.STEER_JSON_MODE)]
    return _steer(talk, number, text)


def ask_to_wrap_up(talk: RpcTalk) -> list[ev.Event]:
    """Tell the child to finish with what it has."""
    return _steer(talk, ev.WRAP_UP, child_messages.WRAP_UP)


def wrap_up_moment(spec: RunSpec, started: float) -> float | None:
    """Return when a child is to be told to finish, if it is and can be."""
    if spec.mode != RPC_MODE or spec.timeout_s is None or not 0 < spec.wrap_up_s < spec.timeout_s:
        return None
    return started + spec.timeout_s - spec.wrap_up_s


def _steer(talk: RpcTalk, number: str, text: str) -> list[ev.Event]:
    """Give the child a message; return what is to be journaled at once."""
    talk.steer(number, text)
    return talk.take_news()
