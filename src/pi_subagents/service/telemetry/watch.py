"""
One call as it is handed over: its beginning, its updates with their times, its end.

In: what an observer of a call gets, in the event loop.  Out: the same in the queue of the sender,
whose thread does everything else.  Nothing waits but the end of a call, for a moment at most, until
that thread has made its spans: the program may shut OpenTelemetry down right afterwards, or exit,
and Python then starts nothing more.  Whether they are sent by then is another matter.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.service.telemetry import sender
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.service.delegation import PlannedTask, Update
    from pi_subagents.service.telemetry.call_spans import CallSpans
    from pi_subagents.service.telemetry.sending import Sending

# Of events, those that say something of spans or waits; the others come by the thousand.
TELLING = (
    ev.StateChanged,
    ev.AssistantMessage,
    ev.ToolStarted,
    ev.ToolFinished,
    ev.Retrying,
    ev.Limited,
    ev.Asked,
    ev.Replied,
)


class CallWatch:
    """Hands a call over as it happens."""

    def __init__(
        self, sending: Sending, env: Mapping[str, str], planned: Sequence[PlannedTask]
    ) -> None:
        self._sender = sender.sender_for(sending)
        self._spans: CallSpans | None = None
        parent, carrier, began = _current_context(), carrier_in(env), time.time_ns()

        def begin() -> None:
            from pi_subagents.service.telemetry.call_spans import CallSpans
            from pi_subagents.service.telemetry.context import parent_of

            instruments = self._sender.instruments()
            self._spans = CallSpans(instruments, parent_of(parent, carrier), planned, began)

        self._sender.put(begin)

    def observe(self, update: Update) -> None:
        """Hand one update over."""
        ends = isinstance(update.what, RunResult)
        if ends or (isinstance(update.what, TELLING) and not self._sender.is_full):
            at = time.time_ns()
            self._sender.put(lambda: self._take(update, at))

    async def end(self) -> None:
        """Hand over that the call is over."""
        at = time.time_ns()
        self._sender.put(lambda: self._ended(at))
        await in_own_thread("telemetry", self._sender.drain)

    def _take(self, update: Update, at: int) -> None:
        if self._spans is not None:
            self._spans.tell(update, at)

    def _ended(self, at: int) -> None:
        if self._spans is not None:
            self._spans.end(at)


def _current_context() -> Any:
    """Return what the caller is in the middle of, where it uses OpenTelemetry at all."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import context

    return context.get_current()


def carrier_in(env: Mapping[str, str]) -> dict[str, str]:
    """Return what the caller's environment says of the trace it belongs to."""
    names = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
    return {name.lower(): env[name] for name in names if env.get(name)}
