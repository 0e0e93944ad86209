"""
What is kept of a session: its runs with their messages, and how they are told.

In: runs, oldest first, each with the events of its journal.  Out: the text that the retrieval
tools return.  A session is the runs under one session id; the latest one speaks for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core import events as ev
from pi_subagents.core.run_result import tool_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_MESSAGES = 500
MAX_ARGUMENTS = 120
MAX_TOOL_RESULT = 500

Message = ev.UserMessage | ev.AssistantMessage | ev.ToolFinished


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of a session, as far as it went."""

    run_id: str
    session_id: str
    name: str
    status: str  # a state of the core
    messages: tuple[Message, ...] = ()
    output: str = ""
    error_message: str = ""
    exit_code: int | None = None
    model: str = ""

    @property
    def tool_status(self) -> str:
        """`running`, `completed` or `error`."""
        return tool_status(self.status)


def keep_messages(events: Iterable[ev.Event]) -> tuple[Message, ...]:
    """Return the messages of a run: the first (the task) and the latest, 500 at most."""
    first: Message | None = None
    latest: list[Message] = []
    for event in events:
        if not isinstance(event, ev.UserMessage | ev.AssistantMessage | ev.ToolFinished):
            continue
        if first is None:
            first = event
            continue
        latest.append(event)
        if len(latest) > 2 * MAX_MESSAGES:  # cut now and then, not at each
            del latest[: -(MAX_MESSAGES - 1)]
    return () if first is None else (first, *latest[-(MAX_MESSAGES - 1) :])


def output_text(run: StoredRun) -> str:
    """Return all text of the run's final assistant message, or the placeholder."""
    if run.output:
        return run.output
    last = next((m for m in reversed(run.messages) if isinstance(m, ev.AssistantMessage)), None)
    return last.text if last is not None and last.text.strip() else messages.NO_TEXT_OUTPUT


def session_text(runs: Sequence[StoredRun]) -> str:
    """Return the whole transcript, runs separated and, where there are several, numbered."""
    several = len(runs) > 1
    parts = []
    for number, run in enumerate(runs, 1):
        header = f"=== Run {number}/{len(runs)} ({run.tool_status}) ===\n" if several else ""
        parts.append(header + "\n".join(_lines(run)))
    return "\n---\n".join(parts)


def _lines(run: StoredRun) -> list[str]:
    lines: list[str] = []
    for message in run.messages:
        match message:
            case ev.UserMessage(text):
                lines.append(text)
            case ev.AssistantMessage():
                if message.text:
                    lines.append(message.text)
                lines += [f"→ {call.name}: {_arguments(call)}" for call in message.tool_calls]
                if message.error_message:
                    lines.append(f"[Error: {message.error_message}]")
            case ev.ToolFinished():
                lines.append(f"[tool result]: {_cut(message.text, MAX_TOOL_RESULT, '...')}")
    if run.error_message and not any(run.error_message in line for line in lines):
        lines.append(f"[Error: {run.error_message}]")
    return lines


def _arguments(call: ev.ToolCall) -> str:
    return _cut(json.dumps(call.arguments or {}, ensure_ascii=False), MAX_ARGUMENTS, "")


def _cut(text: str, limit: int, mark: str) -> str:
    return text if len(text) <= limit else text[:limit] + mark
