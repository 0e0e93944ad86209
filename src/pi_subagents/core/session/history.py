"""
The history of a session: its runs with their messages, as text and as entries of a host's log.

In: records of runs with their messages, oldest first.  Out: the text that the retrieval tools
return; for a host's session log ids, status and the final text up to 8 KB.  A session is the runs
under one session id; the latest one stands for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.announced import with_all_calls
from pi_subagents.core.usage import usage_to_json

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
    for event in with_all_calls(events):
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
    """Return all text of the run's final message and its value, or the placeholder."""
    text = final_text(run) or messages.NO_TEXT_OUTPUT
    value = run.result.value_text if run.result else ""
    return text if value in text else f"{text}\n\n{value}"


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
        parts.append(header + SEPARATOR.join(_texts(run)))
    return SEPARATOR.join(parts)


def _texts(run: RunRecord) -> list[str]:
    """Return the text of each message that has any, and the error unless an answer has it."""
    texts = [text for text in map(_message_text, run.messages) if text]
    if run.output and not run.messages:  # a host's log keeps no more
        texts.append(run.output)
    errors = (m.error_message for m in run.messages if isinstance(m, ev.AssistantMessage))
    if run.error_message and run.error_message not in errors:
        texts.append(f"[Error: {run.error_message}]")
    return texts


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


def arguments_preview(call: ev.ToolCall) -> str:
    """Return the beginning of a call's arguments, as compact JSON."""
    compact = json.dumps(call.arguments or {}, ensure_ascii=False, separators=(",", ":"))
    return cut(compact, MAX_ARGUMENTS, "")


def cut(text: str, limit: int, mark: str) -> str:
    """Return the text, or its beginning and the mark where it is longer than that."""
    return text if len(text) <= limit else text[:limit] + mark


ENTRY_TYPE = "pi-subagents"
VERSION = 1
MAX_TEXT_BYTES = 8 * 1024


def entry_of(run: RunRecord) -> dict[str, object]:
    """Return the entry of a host's session log."""
    return {"version": VERSION, **run_to_json(run), "output": _cut(final_text(run))}


def run_to_json(run: RunRecord) -> dict[str, object]:
    """Return the state of a run, without its messages."""
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "taskName": _cut(run.name),
        "status": run.status,
        "errorMessage": _cut(run.error_message) or None,
        "exitCode": run.exit_code,
        "model": _cut(run.model) or None,
        "usage": usage_to_json(run.usage),
        "startedAt": run.begun_at_ms,
    }


def _cut(text: str) -> str:
    """Return the text, or as much of its beginning as fits together with the mark."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return text
    room = MAX_TEXT_BYTES - len(f"\n{messages.entry_cut(len(text))}")
    kept = encoded[:room].decode("utf-8", "ignore")
    return f"{kept}\n{messages.entry_cut(len(text) - len(kept))}"
