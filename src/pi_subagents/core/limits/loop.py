"""Loop detection: a child that makes the same call again and again is ended."""

from __future__ import annotations

import json

from pi_subagents.core.limits.base import EndRun
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause


class LoopLimit:
    """
    End the run at N consecutive identical calls: same name, same arguments at every depth.

    It sees every call once: where an answer announces it, else where it begins.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last = ""
        self._count = 0
        self._looping = False

    def saw(self, event: ev.Event | None, now: float) -> None:
        """Count the calls of an answer, or one that nobody announced."""
        del now
        if isinstance(event, ev.AssistantMessage):
            for call in event.tool_calls:
                self._saw_call(call)
        elif isinstance(event, ev.ToolStarted):
            self._saw_call(event.call)
        elif isinstance(event, ev.UserMessage):  # whoever asks again gets the same answer
            self._last, self._count = "", 0

    def deadline(self) -> None:
        """Time alone makes no loop."""

    def verdict(self, now: float) -> EndRun | None:
        """End the run once there was a loop."""
        del now
        return EndRun(Cause.LOOPING) if self._looping else None

    def _saw_call(self, call: ev.ToolCall) -> None:
        # Arguments that could not be taken in are like no others, though nobody knows them.
        signature = "" if call.arguments is None else call_signature(call)
        self._count = self._count + 1 if signature and signature == self._last else 1
        self._last = signature
        self._looping |= 0 < self._limit <= self._count


def call_signature(call: ev.ToolCall) -> str:
    """Return a text that two calls share only if they ask for exactly the same."""
    return json.dumps([call.name, call.arguments], sort_keys=True, separators=(",", ":"))
