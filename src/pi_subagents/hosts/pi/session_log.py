"""
What the session log of pi says of runs: entries of ours, and of the original extension.

In: the decoded entries of a log, of any JSON.  Out: their sessions; what cannot be
understood is passed over.  Never raises.

Our own entries are those of `core/session/log_entry.py`.  Full entries of the original pi extension
have no `version`, and a list `messages` in pi's own format; beside it are understood: `sessionId`,
`taskName` or `name`, `prompt`, `status`, `runId`, `output`, `errorMessage` or `error`, `exitCode`,
`model`, and `startedAt` or `startTime` in milliseconds.  Whatever else they hold is passed over.

An entry that says `running` was written by a host that ended unexpectedly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Status
from pi_subagents.core.run.record import RunMeta, RunRecord
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.session.history import ENTRY_TYPE, VERSION, keep_messages
from pi_subagents.core.session.recent import SessionView
from pi_subagents.core.usage import Usage, usage_from_json
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.records import decode_kept_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.record import StoredMessage

_LATEST = 8_640_000_000_000_000  # the last millisecond of a JavaScript date

# The words of an entry -> states of the core.  The original knows `running | completed | error`.
_UNFINISHED = ("planned", "starting", "running", "stopping")
_STATES: Mapping[str, Status] = {
    **{state: state for state in get_args(Status)},
    "error": "failed",
    **dict.fromkeys(_UNFINISHED, "interrupted"),
}


def sessions_of_log(entries: Iterable[object]) -> SessionView:
    """Return the view that a host's session log gives; entries that are not ours are skipped."""
    view = SessionView()
    for entry in entries:
        if isinstance(entry, Mapping) and entry.get("customType") == ENTRY_TYPE:
            run = run_of_entry(entry.get("data"))
            if run is not None:
                view.register(run)
    return view


def run_of_entry(data: object) -> RunRecord | None:
    """Return the run of one entry, or None where it cannot be understood."""
    if not isinstance(data, Mapping):
        return None
    session_id, status = _text(data, "sessionId"), _STATES.get(_text(data, "status"))
    if not session_id or status is None:
        return None
    said = _said(data)
    if said is None:
        return None
    usage, messages, task = said
    result = RunResult(
        run_id=_text(data, "runId"),
        session_id=session_id,
        name=_text(data, "taskName", "name"),
        status=status,
        output=_text(data, "output"),
        error_message=_text(data, "errorMessage", "error"),
        exit_code=_whole(data.get("exitCode")),
        model=_text(data, "model"),
        usage=usage,
    )
    if _text(data, "status") in _UNFINISHED:
        result = replace(result, error_message=core_messages.INTERRUPTED)
    begun_ms = _milliseconds(data, "startedAt", "startTime")
    meta = RunMeta(session_id, result.name, task, started_at_ms=begun_ms)
    return RunRecord(result.run_id, meta, result=result, messages=messages)


def _said(
    data: Mapping[str, object],
) -> tuple[Usage, tuple[StoredMessage, ...], str] | None:
    """Return what a run used, what was said in it and asked of it, as its kind of entry has it."""
    if "version" in data:
        version = data["version"]
        ours = version == VERSION and not isinstance(version, bool)
        return (usage_from_json(data.get("usage")), (), "") if ours else None
    kept = data.get("messages")
    if not isinstance(kept, list):
        return None
    events = [decode_kept_message(message) for message in kept]
    answers = (event for event in events if isinstance(event, ev.AssistantMessage))
    usage = sum((answer.usage for answer in answers), Usage())
    return usage, keep_messages(events), _text(data, "prompt")


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
