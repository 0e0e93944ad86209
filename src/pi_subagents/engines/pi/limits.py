"""
Limits of providers, as pi and our extension in it report them.

In: the lines of one child with the events they were read as.  Out: the same events, and a `Limited`
after a message that failed because its provider answers no more for now.  pi itself shows the words
of an answer; status and time come from our extension, just before the message.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi.records import as_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

# What our extension adds to the session, and pi announces.
RESPONSE_ENTRY = "pi-subagents-response"
_MARK = RESPONSE_ENTRY.encode("ascii")
_APPENDED = "entry_appended"


class LimitReports:
    """What is known of the response that a message is about to fail for."""

    def __init__(self) -> None:
        self._response: Mapping[str, object] = {}

    def added(self, line: bytes, events: tuple[ev.Event, ...]) -> tuple[ev.Event, ...]:
        """Return the events of a line, and the limit that the last of them is about."""
        match events:
            case (ev.Activity(kind),) if kind == _APPENDED and _MARK in line:
                entry = as_mapping(json.loads(line).get("entry"))
                if entry.get("customType") == RESPONSE_ENTRY:
                    self._response = as_mapping(entry.get("data"))
            case (ev.AssistantMessage() as message,):
                response, self._response = self._response, {}
                if message.stop_reason == "error" and (limit := _limit(message, response)):
                    return (message, limit)
        return events


def _limit(message: ev.AssistantMessage, response: Mapping[str, object]) -> ev.Limited | None:
    from pi_subagents.core.run.limited import (
        limit_in,
    )  # its patterns take time, most runs need none

    return limit_in(
        message.error_message,
        provider=message.provider,
        status=_whole(response.get("status")),
        until_ms=_whole(response.get("until")),
    )


def _whole(value: object) -> int:
    return value if type(value) is int and value > 0 else 0
