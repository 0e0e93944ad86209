"""
Write events as records of `events.jsonl`, and read them back.

In: an Event, or one line of the file.  Out: one JSON line, or the Event it holds.  Reading is
total: a damaged line or a record of a later version gives None and harms no other.
Records are versioned, carry a sequence number and wall-clock milliseconds, and hold no deltas.
"""

from __future__ import annotations

import json

from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import usage_from_json, usage_to_json
from pi_subagents.core.value import as_dict, replace, value

SCHEMA_VERSION = 1
MAX_TEXT = 256 * 1024
MAX_ARGUMENTS = 256 * 1024
MAX_KEY = 200
_TextEvent = type[ev.UserMessage | ev.OutputText | ev.ErrorText | ev.Note]
_TEXT_EVENTS: dict[str, _TextEvent] = {
    "user": ev.UserMessage,
    "output": ev.OutputText,
    "stderr": ev.ErrorText,
    "note": ev.Note,
}
_TEXT_KINDS = {cls: kind for kind, cls in _TEXT_EVENTS.items()}


@value
class JournalEntry:
    """One event with its place and time."""

    seq: int
    time_ms: int
    event: ev.Event


def encode_entry(entry: JournalEntry) -> bytes:
    """Return the entry as one line of pure ASCII, so that no reader can split it elsewhere."""
    record = {"v": SCHEMA_VERSION, "seq": entry.seq, "t": entry.time_ms, **_to_record(entry.event)}
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"


def decode_entry(line: bytes) -> JournalEntry | None:
    """Return the entry of one line, or None where it cannot be understood."""
    try:
        record = json.loads(line)
        if record["v"] != SCHEMA_VERSION:
            return None
        event = _from_record(record)
        return JournalEntry(int(record["seq"]), int(record["t"]), event) if event else None
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def bounded(event: ev.Event) -> ev.Event:
    """Return the event with its texts cut to what the journal keeps, saying so where it cut."""
    match event:
        case ev.AssistantMessage():
            return replace(
                event,
                text=_cut(event.text),
                error_message=_cut(event.error_message),
                tool_calls=tuple(_cut_call(call) for call in event.tool_calls),
            )
        case ev.ToolStarted():
            return ev.ToolStarted(_cut_call(event.call))
        case ev.Retrying():
            return replace(event, error_message=_cut(event.error_message))
        case (
            ev.UserMessage()
            | ev.ToolFinished()
            | ev.OutputText()
            | ev.ErrorText()
            | ev.Note()
            | ev.Limited()
            | ev.Steer()
            | ev.Asked()
            | ev.Replied()
        ):
            return replace(event, text=_cut(event.text))
        case _:
            return event


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n[cut: {len(text) - MAX_TEXT} more characters]"


def _cut_call(call: ev.ToolCall) -> ev.ToolCall:
    if call.arguments is None:
        return call
    size = len(json.dumps(call.arguments))
    if size <= MAX_ARGUMENTS:
        return call
    kept = {
        key[:MAX_KEY]: value if len(json.dumps(value)) <= MAX_ARGUMENTS // 16 else "[cut]"
        for key, value in list(call.arguments.items())[:16]
    }
    return replace(call, arguments={**kept, "[cut]": f"{size} bytes of arguments"})


def _to_record(event: ev.Event) -> dict[str, object]:
    match event:
        case ev.StateChanged(state):
            return {"kind": "state", "state": state}
        case ev.UserMessage() | ev.OutputText() | ev.ErrorText() | ev.Note():
            return {"kind": _TEXT_KINDS[type(event)], "text": event.text}
        case ev.AssistantMessage():
            return {
                "kind": "assistant",
                "text": event.text,
                "toolCalls": [_call_to_record(call) for call in event.tool_calls],
                "stopReason": event.stop_reason,
                "errorMessage": event.error_message,
                "provider": event.provider,
                "model": event.model,
                "usage": usage_to_json(event.usage),
                **_known(durationMs=event.duration_ms),
            }
        case ev.ToolStarted(call):
            return {"kind": "tool_call", **_call_to_record(call)}
        case ev.ToolFinished():
            return {
                "kind": "tool_result",
                "id": event.call_id,
                "name": event.name,
                "text": event.text,
                "failed": event.failed,
                **_known(parentId=event.parent_id, durationMs=event.duration_ms),
            }
        case ev.Retrying():
            return {
                "kind": "retry",
                "attempt": event.attempt,
                "maxAttempts": event.max_attempts,
                "delayMs": event.delay_ms,
                "errorMessage": event.error_message,
            }
        case ev.Limited():
            known = _known(afterS=event.after_s, until=event.until_ms)
            return {"kind": "limited", "provider": event.provider, "text": event.text, **known}
        case ev.Settled(aborted):
            return {"kind": "settled", **_known(aborted=aborted)}
        case ev.Steer():
            return {"kind": "steer", **as_dict(event)}
        case ev.Asked():
            return {
                "kind": "asked",
                "number": event.number,
                "text": event.text,
                "options": list(event.options),
                "withinS": event.within_s,
            }
        case ev.Replied():
            return {"kind": "replied", **as_dict(event)}
        case ev.ValueGiven(given):
            return {"kind": "value", "value": given}
        case ev.ValueRefused(problem):
            return {"kind": "value_refused", "problem": problem}
        case ev.Activity(kind):
            return {"kind": "activity", "of": kind}


def _from_record(record: dict[str, object]) -> ev.Event | None:
    match record:
        case {"kind": "state", "state": str(state)}:
            return ev.StateChanged(state)
        case {"kind": ("user" | "output" | "stderr" | "note") as kind, "text": str(text)}:
            return _TEXT_EVENTS[kind](text)
        case {"kind": "assistant", "text": str(text), "toolCalls": list(calls)}:
            return ev.AssistantMessage(
                text=text,
                tool_calls=tuple(_call_from_record(call) for call in calls),
                stop_reason=str(record["stopReason"]),
                error_message=str(record["errorMessage"]),
                provider=str(record["provider"]),
                model=str(record["model"]),
                usage=usage_from_json(record["usage"]),
                duration_ms=_duration(record),
            )
        case {"kind": "tool_call"}:
            return ev.ToolStarted(_call_from_record(record))
        case {"kind": "tool_result", "id": str(i), "name": str(n), "text": str(t), "failed": f}:
            parent = str(record.get("parentId", ""))
            return ev.ToolFinished(i, n, t, f is True, parent, _duration(record))
        case {"kind": "retry", "attempt": int(a), "maxAttempts": int(m), "delayMs": int(d)}:
            return ev.Retrying(a, m, d, str(record["errorMessage"]))
        case {"kind": "limited", "provider": str(provider), "text": str(text)}:
            after_s, until_ms = (float(str(record.get(key, 0))) for key in ("afterS", "until"))
            return ev.Limited(provider, after_s, int(until_ms), text)
        case {"kind": "settled"}:
            return ev.Settled(aborted=record.get("aborted") is True)
        case {"kind": "steer", "number": str(n), "status": str(s), "text": str(t)}:
            return ev.Steer(n, s, t, str(record["reason"]))
        case {"kind": "asked", "number": str(n), "text": str(t), "options": list(options)}:
            within_s = record["withinS"]
            named = tuple(map(str, options))
            return ev.Asked(n, t, named, within_s) if isinstance(within_s, int | float) else None
        case {"kind": "replied", "question": str(q), "status": str(s), "text": str(t)}:
            return ev.Replied(q, s, t, str(record["reason"]), str(record["reply"]))
        case {"kind": "value", "value": given}:
            return ev.ValueGiven(given)
        case {"kind": "value_refused", "problem": str(problem)}:
            return ev.ValueRefused(problem)
        case {"kind": "activity", "of": str(of)}:
            return ev.Activity(of)
        case _:
            return None


def _call_to_record(call: ev.ToolCall) -> dict[str, object]:
    known = _known(parentId=call.parent_id)
    return {"id": call.call_id, "name": call.name, "arguments": call.arguments, **known}


def _call_from_record(record: dict[str, object]) -> ev.ToolCall:
    arguments = record["arguments"]
    return ev.ToolCall(
        call_id=str(record["id"]),
        name=str(record["name"]),
        arguments=arguments if isinstance(arguments, dict) else None,
        parent_id=str(record.get("parentId", "")),
    )


def _known(**fields: object) -> dict[str, object]:
    """Return the fields that are set: what only newer children report costs others nothing."""
    return {name: value for name, value in fields.items() if value}


def _duration(record: dict[str, object]) -> int:
    return int(str(record.get("durationMs", 0)))
