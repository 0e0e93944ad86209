"""
What is kept of a session: its runs with their messages, and how they are told.

In: records of runs with their messages, oldest first.  Out: the text that the retrieval
tools return.  A session is the runs under one session id; the latest one speaks for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.core.run.record import RunRecord, StoredMessage

MAX_MESSAGES = 500
MAX_ARGUMENTS = 120
MAX_TOOL_RESULT = 500
SEPARATOR = "\n---\n"


def keep_messages(events: Iterable[ev.Event]) -> tuple[StoredMessage, ...]:
    """Return the messages of a run: the first (the task) and the latest, 500 at most."""
    first: StoredMessage | None = None
    latest: list[StoredMessage] = []
    for event in events:
        if not isinstance(event, ev.UserMessage | ev.AssistantMessage | ev.ToolFinished):
            continue
        if isinstance(event, ev.ToolFinished) and event.parent_id:
            continue  # a script called it, and the model saw nothing of it
        if first is None:
            first = event
            continue
        latest.append(event)
        if len(latest) > 2 * MAX_MESSAGES:  # cut now and then, not at each
            del latest[: -(MAX_MESSAGES - 1)]
    return () if first is None else (first, *latest[-(MAX_MESSAGES - 1) :])


def output_text(run: RunRecord) -> str:
    """Return all text of the run's final assistant message, or the placeholder."""
    return final_text(run) or messages.NO_TEXT_OUTPUT


def final_text(run: RunRecord) -> str:
    """Return all text of the run's final assistant message, empty where it has none."""
    if run.output:
        return run.output
    last = next((m for m in reversed(run.messages) if isinstance(m, ev.AssistantMessage)), None)
    return last.text if last is not None and last.text.strip() else ""


def session_text(runs: Sequence[RunRecord]) -> str:
    """Return the whole transcript, messages and runs separated, several runs numbered."""
    several = len(runs) > 1
    parts = []
    for number, run in enumerate(runs, 1):
        header = f"=== Run {number}/{len(runs)} ({run.tool_status}) ===\n" if several else ""
        parts.append(header + SEPARATOR.join(_told(run)))
    return SEPARATOR.join(parts)


def _told(run: RunRecord) -> list[str]:
    """Return the text of each message that has any, and the error where no answer told it."""
    told = [text for text in map(_message_text, run.messages) if text]
    if run.output and not run.messages:  # a host's log keeps no more
        told.append(run.output)
    if run.error_message and run.error_message not in map(_error_of, run.messages):
        told.append(f"[Error: {run.error_message}]")
    return told


def _message_text(message: StoredMessage) -> str:
    match message:
        case ev.UserMessage(text):
            return text
        case ev.ToolFinished():
            return f"[tool result]: {cut(message.text, MAX_TOOL_RESULT, '...')}"
        case ev.AssistantMessage():
            lines = [message.text] if message.text else []
            lines += [f"→ {call.name}: {arguments_preview(call)}" for call in message.tool_calls]
            if message.error_message:
                lines.append(f"[Error: {message.error_message}]")
            return "\n".join(lines)


def _error_of(message: StoredMessage) -> str:
    return message.error_message if isinstance(message, ev.AssistantMessage) else ""


def arguments_preview(call: ev.ToolCall) -> str:
    """Return the beginning of a call's arguments, as compact JSON."""
    compact = json.dumps(call.arguments or {}, ensure_ascii=False, separators=(",", ":"))
    return cut(compact, MAX_ARGUMENTS, "")


def cut(text: str, limit: int, mark: str) -> str:
    """Return the text, or its beginning and the mark where it is longer than that."""
    return text if len(text) <= limit else text[:limit] + mark
