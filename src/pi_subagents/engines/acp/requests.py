"""
What goes out to an agent: requests with numbers of our own, answers to its own, notifications.

In: methods and parameters.  Out: lines on the channel; of an answer, which request it is to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import json_rpc
from pi_subagents.core.json_rpc import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.json_rpc import Id
    from pi_subagents.engines.conversation import Channel

MAX_DIGITS = 9  # of a number of ours


class Requests:
    """The requests of one run, and which of them wait for their answers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._ids = 0
        self.pending: dict[Id, str] = {}  # what was asked, in the order in which it was

    def request(self, method: str, params: Mapping[str, object], *, known_as: str = "") -> int:
        """Ask something; return the number of the request."""
        self._ids += 1
        self.pending[self._ids] = known_as or method
        self._send(json_rpc.encode_request(self._ids, method, dict(params)))
        return self._ids

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Say something that wants no answer."""
        self._send(json_rpc.encode_notification(method, dict(params)))

    def respond(self, request: Id, outcome: object) -> None:
        """Answer a request of the agent: with a result, or with why there is none."""
        is_failure = isinstance(outcome, Failure)
        encode = json_rpc.encode_failure if is_failure else json_rpc.encode_result
        self._send(encode(request, outcome))  # type: ignore[arg-type]  # as the line above says

    def asked(self, own: Id) -> str:
        """Return what an answer is to, once; an empty text where nothing was asked."""
        if isinstance(own, str) and own.isdecimal() and len(own) <= MAX_DIGITS:
            own = int(own)  # some know ids as texts only; ours are numbers
        return self.pending.pop(own, "")

    def _send(self, line: bytes) -> None:
        self._channel.send(line + b"\n")
