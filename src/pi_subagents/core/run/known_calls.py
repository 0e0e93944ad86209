"""
Which arguments a tool call has: some children say them with the message that asks for it only.

In: events in order.  Out: a call with its arguments, as far as they were said; of the newest calls.
"""

from __future__ import annotations

from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace

MAX_CALLS = 256


class KnownCalls:
    """The calls that were asked for and have not begun."""

    def __init__(self) -> None:
        self._calls: dict[str, ev.ToolCall] = {}

    def completed(self, event: ev.Event) -> ev.Event:
        """Take the next event, and return it; where a call begins, with its arguments."""
        match event:
            case ev.AssistantMessage(tool_calls=calls):
                for call in calls:
                    self._remember(call)
            case ev.ToolStarted(call):
                asked = self._calls.pop(call.call_id, None)
                if call.arguments is None and asked and asked.name == call.name:
                    return ev.ToolStarted(replace(asked, parent_id=call.parent_id))
        return event

    def _remember(self, call: ev.ToolCall) -> None:
        self._calls.pop(call.call_id, None)
        self._calls[call.call_id] = call
        if len(self._calls) > MAX_CALLS:
            self._calls.pop(next(iter(self._calls)))
