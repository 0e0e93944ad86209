"""
The supervisor's side of pi: a conversation in the mode the child was started in.

In JSON mode the child reads its prompt from standard input, which ends there: we only listen.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.limits import LimitReports
from pi_subagents.engines.pi.records import REPEATED, advice_on, decode_pi_line, events_in
from pi_subagents.engines.plain import PlainConversation

if TYPE_CHECKING:
    from pi_subagents.engines.conversation import Beginning, Channel, Conversation

JSON_MODE, RPC_MODE = ("json", "rpc")


def open_conversation(mode: str, run_id: str, channel: Channel) -> Conversation:
    """Return the conversation of one run; `run_id` marks its commands among those of other runs."""
    if mode == RPC_MODE:
        from pi_subagents.engines.pi.rpc_conversation import RpcConversation

        return RpcConversation(run_id, channel)
    return JsonConversation()


def load() -> None:
    """Import what is imported when it is used, for processes that begin many conversations."""
    import_module(f"{__package__}.rpc_conversation")


class JsonConversation(PlainConversation):
    """What one run reads from its child in JSON mode; a message to it would come too late."""

    repeated: ClassVar[bytes] = REPEATED
    advice = staticmethod(advice_on)

    def __init__(self) -> None:
        super().__init__()
        self._limits = LimitReports()

    def begin(self, beginning: Beginning) -> None:
        """Send nothing: the child reads its prompt by itself."""

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:  # noqa: ARG002 - clock-free
        """Take one line of the child; every one is an event, and one may show a limit."""
        return self._limits.added(line, events_in(line, decode_pi_line(line)))

    def steer(self, number: str, text: str) -> None:
        """Refuse a message: the child would not read it."""
        self._news.append(ev.Steer(number, ev.REFUSED, text, messages.STEER_JSON_MODE))
