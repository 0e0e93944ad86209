"""
What a host's own session log keeps of a run: compact entries of ours, and how any entry is read.

In: a StoredRun, or the decoded `data` of an entry.  Out: the other, None where an entry cannot be
understood.  Never raises on any JSON.

We write ids, status and the final text up to 8 KB; the messages stay in the run directory.  Full
entries of the original pi extension are read as well.  They have no `version`, and a list
`messages` in pi's own format; beside it are understood: `sessionId`, `taskName` or `name`,
`prompt`, `status`, `runId`, `output`, `errorMessage` or `error`, `exitCode`, `model`, and
`startedAt` or `startTime` in milliseconds.  Whatever else they hold is passed over.

An entry that says `running` was written by a host that ended unexpectedly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pi_subagents import messages
from pi_subagents.core import events as ev
from pi_subagents.core.outcome import Status
from pi_subagents.core.session import StoredRun, final_text, keep_messages
from pi_subagents.core.usage import Usage, parse_usage, usage_to_json
from pi_subagents.core.value import replace

ENTRY_TYPE = "pi-subagents"
VERSION = 1
MAX_TEXT_BYTES = 8 * 1024
_LATEST = 8_640_000_000_000_000  # the last millisecond of a JavaScript date

# The words of an entry -> states of the core.  The original knows `running | completed | error`.
_STATES = {
    **{state: state for state in get_args(Status)},
    "error": "failed",
    **dict.fromkeys(("planned", "starting", "running", "stopping"), "running"),
}


def entry_of(run: StoredRun) -> dict[str, object]:
    """Return what is written to a host's session log."""
    return {"version": VERSION, **run_to_json(run), "output": _cut(final_text(run))}


def run_to_json(run: StoredRun) -> dict[str, object]:
    """Return how a run stands, without what was said in it."""
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "taskName": _cut(run.name),
        "status": run.status,
        "errorMessage": _cut(run.error_message) or None,
        "exitCode": run.exit_code,
        "model": _cut(run.model) or None,
        "usage": usage_to_json(run.usage),
        "startedAt": run.started_at_ms,
    }


def run_of_entry(data: object) -> StoredRun | None:
    """Return the run of one entry, or None where it cannot be understood."""
    if not isinstance(data, Mapping):
        return None
    run = _compact(data) if "version" in data else _full(data)
    if run is not None and run.status == "running":
        return replace(run, status="interrupted", error_message=messages.INTERRUPTED)
    return run


def _compact(data: Mapping[str, object]) -> StoredRun | None:
    version = data["version"]
    if isinstance(version, bool) or version != VERSION:
        return None
    run = _common(data)
    return run and replace(run, usage=parse_usage(data.get("usage")))


def _full(data: Mapping[str, object]) -> StoredRun | None:
    run = _common(data)
    said = data.get("messages")
    if run is None or not isinstance(said, list):
        return None
    events = [ev.decode_kept_message(message) for message in said]
    answers = (event for event in events if isinstance(event, ev.AssistantMessage))
    return replace(
        run,
        messages=keep_messages(events),
        task=_text(data, "prompt"),
        usage=sum((answer.usage for answer in answers), Usage()),
    )


def _common(data: Mapping[str, object]) -> StoredRun | None:
    """Return what both kinds of entry say by the same words."""
    session_id = _text(data, "sessionId")
    status = _STATES.get(_text(data, "status"))
    if not session_id or status is None:
        return None
    return StoredRun(
        run_id=_text(data, "runId"),
        session_id=session_id,
        name=_text(data, "taskName", "name"),
        status=status,
        output=_text(data, "output"),
        error_message=_text(data, "errorMessage", "error"),
        exit_code=_whole(data.get("exitCode")),
        model=_text(data, "model"),
        started_at_ms=_milliseconds(data, "startedAt", "startTime"),
    )


def _text(data: Mapping[str, object], *spellings: str) -> str:
    """Return the first text that stands under one of the names."""
    return next((found for key in spellings if isinstance(found := data.get(key), str)), "")


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _milliseconds(data: Mapping[str, object], *spellings: str) -> int:
    """Return the first moment under one of the names; 0 for what no clock can have said."""
    for key in spellings:
        value = data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LATEST:
            return int(value)
    return 0


def _cut(text: str) -> str:
    """Return the text, or as much of its beginning as fits together with the mark."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_TEXT_BYTES:
        return text
    room = MAX_TEXT_BYTES - len(f"\n{messages.entry_cut(len(text))}")
    kept = encoded[:room].decode("utf-8", "ignore")
    return f"{kept}\n{messages.entry_cut(len(text) - len(kept))}"
