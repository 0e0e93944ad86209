"""
Messages to an agent at work: on their way, delivered or refused, each exactly once.

In: messages, and what the agent does with them.  Out: events for the journal.  How a message goes
to which agent is in its row of the catalogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.json_rpc import Failure
from pi_subagents.core.run import events as ev
from pi_subagents.engines import messages as engine_messages
from pi_subagents.engines.acp import messages
from pi_subagents.engines.acp.agent import NO_STEERING
from pi_subagents.engines.acp.reading import as_text, member
from pi_subagents.engines.acp.turn import reason_of
from pi_subagents.engines.acp.wire import as_data

if TYPE_CHECKING:
    from pi_subagents.engines.acp.agent import Agent


class Steering:
    """The messages of one run."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._numbers: set[str] = set()  # of messages that came; one may be announced twice
        self._waiting: dict[str, str] = {}  # texts, by number
        self._asked: dict[object, str] = {}  # numbers, by the requests that brought them

    def takes(self, number: str, text: str, why_not: str, news: list[ev.Event]) -> bool:
        """Take a message that came; refuse it for a reason, or where this agent takes none."""
        if number in self._numbers:
            return False
        self._numbers.add(number)
        if self._agent.steering == NO_STEERING:
            why_not = engine_messages.no_steering(self._agent.title)
        if why_not:
            news.append(ev.Steer(number, ev.REFUSED, text, why_not))
            return False
        self._waiting[number] = text
        return True

    def waiting(self) -> tuple[tuple[str, str], ...]:
        """Return the messages that were not sent yet, by number."""
        return tuple((n, t) for n, t in self._waiting.items() if n not in self._asked.values())

    def sent(self, request: object, number: str) -> None:
        """Note which request brings a message."""
        self._asked[request] = number

    def answered(self, request: object, outcome: object, news: list[ev.Event]) -> None:
        """Take the answer to such a request."""
        number = self._asked.pop(request, "")
        if number not in self._waiting:
            return
        text, reason = self._waiting.pop(number), ""
        if isinstance(outcome, Failure):
            reason = reason_of(outcome)
        elif member(outcome, "outcome") not in (None, "injected"):
            reason = as_text(member(outcome, "reason")) or str(member(outcome, "outcome"))
        status = ev.REFUSED if reason else ev.DELIVERED
        news.append(ev.Steer(number, status, text, reason and messages.steer_refused(reason)))

    def drain(self, news: list[ev.Event]) -> list[str]:
        """Return the messages for an agent that asks for them: it has them now."""
        taken, self._waiting = self._waiting, {}
        news += [ev.Steer(number, ev.DELIVERED, text) for number, text in taken.items()]
        return [as_data(text) for text in taken.values()]

    def close(self, reason: str, news: list[ev.Event]) -> None:
        """Refuse what nobody read."""
        news += [ev.Steer(n, ev.REFUSED, text, reason) for n, text in self._waiting.items()]
        self._waiting = {}
