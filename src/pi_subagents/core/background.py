"""
Background runs as a host sees them: rows, counts, and records for its own session log.

In: what is known of each run.  Out: plain JSON values and text.  The states are those of
`background_agent_status` (running, completed, failed, aborted): an interrupted run counts as
failed, so that counts add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.usage import Usage, parse_usage, usage_to_json

if TYPE_CHECKING:
    from pi_subagents.core.preset_request import StatusRequest

RUN_ENTRY = "pi-subagents:bg-run"
UPDATE_ENTRY = "pi-subagents:bg-update"
END_MESSAGE = "pi-subagents:bg-end"
VERSION = 1
MAX_ENTRY_OUTPUT = 8192
MAX_TOLD_OUTPUT = 8192
MAX_ROWS = 200
_TASK_WIDTH = 60
_STATES = ("running", "completed", "failed", "aborted")


@dataclass(frozen=True, slots=True)
class BackgroundRun:
    """One run; the fields below `status` say something once it ended."""

    run_id: str
    session_id: str
    preset: str
    task: str
    cwd: str
    requested_model: str | None
    resolved_model: str | None
    created_at_ms: int
    paths: Mapping[str, str] = field(default_factory=dict)
    started_at_ms: int | None = None
    status: str = "running"
    finished_at_ms: int | None = None
    duration_ms: int = 0
    output: str = ""
    error_message: str = ""
    exit_code: int | None = None
    stop_reason: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Tell whether the run is over."""
        return self.status != "running"


def background_status(state: str) -> str:
    """Return the word of system B for a state of the core."""
    if state in ("completed", "aborted"):
        return state
    return "failed" if state in ("failed", "interrupted") else "running"


def counts(runs: Iterable[BackgroundRun]) -> dict[str, int]:
    """Return how many runs are in which state, and how many there are."""
    found = Counter(run.status for run in runs)
    return {**{state: found[state] for state in _STATES}, "total": found.total()}


def footer(counted: Mapping[str, int]) -> str:
    """Return the one line a host keeps in view."""
    return f"bg: {counted['running']} running / {counted['total']} total"


def listed(runs: Sequence[BackgroundRun], request: StatusRequest) -> list[BackgroundRun]:
    """Return the runs to tell of: the one that was asked for, else the active ones or all."""
    if request.run_id is not None:
        return [run for run in runs if run.run_id == request.run_id]
    return [run for run in runs if request.include_completed or not run.ended][:MAX_ROWS]


def started_to_json(run: BackgroundRun, runs: Sequence[BackgroundRun]) -> dict[str, object]:
    """Return the value of `background_agent`."""
    text = messages.background_started(run.preset, run.run_id)
    if run.ended and run.started_at_ms is None:
        text = messages.background_not_started(run.preset, run.run_id, run.error_message)
    details = {**_row(run), "counts": counts(runs)}
    return {"content": _text(text), "details": details, "isError": False}


def status_to_json(
    runs: Sequence[BackgroundRun],
    request: StatusRequest,
    to_count: Sequence[BackgroundRun] | None = None,
) -> dict[str, object]:
    """Return the value of `background_agent_status`; a host counts its own runs only."""
    shown = listed(runs, request)
    counted = counts(runs if to_count is None else to_count)
    lines = [footer(counted), *(_line(run) for run in shown)]
    if request.run_id is not None:
        lines += [told for run in shown for told in _ending(run)]
    details = {"counts": counted, "runs": [_row(run) for run in shown]}
    return {"content": _text("\n".join(lines)), "details": details, "isError": False}


def stopped_to_json(
    stopped: Sequence[BackgroundRun], runs: Sequence[BackgroundRun]
) -> dict[str, object]:
    """Return the value of `background_agent_stop`."""
    counted = counts(runs)
    ended = sum(run.status == "aborted" for run in stopped)  # others had answered by then
    lines = [messages.background_stopped(ended), footer(counted)]
    details = {"counts": counted, "runs": [_row(run) for run in stopped]}
    lines += [_line(run) for run in stopped]
    return {"content": _text("\n".join(lines)), "details": details, "isError": False}


# Records in a host's session log


def run_entry(run: BackgroundRun) -> dict[str, object]:
    """Return the record of a launch."""
    return {"version": VERSION, **_row(run)}


def update_entry(run: BackgroundRun) -> dict[str, object]:
    """Return the record of an end: compact, the whole is in the run directory."""
    row = _row(run)
    kept = ("runId", "status", "finishedAt", "durationMs", "errorMessage", "exitCode", "usage")
    cut = run.output[:MAX_ENTRY_OUTPUT]
    return {"version": VERSION, **{key: row[key] for key in kept}, "output": cut}


def rebuild(entries: Iterable[object]) -> dict[str, BackgroundRun]:
    """Return the runs that a host's log tells of; what cannot be read is passed over."""
    found: dict[str, BackgroundRun] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(data := entry.get("data"), Mapping):
            continue
        run_id = data.get("runId")
        if not isinstance(run_id, str):
            continue
        if entry.get("customType") == RUN_ENTRY:
            found[run_id] = _run_of(data)
        elif entry.get("customType") == UPDATE_ENTRY and run_id in found:
            known = found[run_id]
            merged = {**_row(known), **data}
            found[run_id] = _run_of(merged)
    return found


def usage_entry(run: BackgroundRun) -> dict[str, object]:
    """Return the record of an end whose usage the host has counted."""
    return {**update_entry(run), "usageTold": True}


def usage_told(entries: Iterable[object]) -> set[str]:
    """Return the runs whose usage a host has counted, as its log tells."""
    told = set()
    for entry in entries:
        data = entry.get("data") if isinstance(entry, Mapping) else None
        if isinstance(data, Mapping) and data.get("usageTold") is True:
            told.add(str(data.get("runId")))
    return told


def _row(run: BackgroundRun) -> dict[str, object]:
    row: dict[str, object] = {
        _NAMES.get(each.name, each.name): getattr(run, each.name) for each in fields(run)
    }
    return {
        **row,
        "paths": dict(run.paths),
        "usage": usage_to_json(run.usage),
        "notes": list(run.notes),
        "errorMessage": run.error_message or None,
    }


def _run_of(data: Mapping[str, object]) -> BackgroundRun:
    values: dict[str, object] = {}
    for each in fields(BackgroundRun):
        value = data.get(_NAMES.get(each.name, each.name))
        values[each.name] = _READERS.get(each.name, _text_of)(value)
    if values["status"] not in _STATES:
        values["status"] = "running"
    return BackgroundRun(**values)  # type: ignore[arg-type]  # fields by name, of many types


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _optional_number(value: object) -> int | None:
    return value if type(value) is int else None


def _paths(value: object) -> dict[str, str]:
    items = value.items() if isinstance(value, Mapping) else ()
    return {key: path for key, path in items if isinstance(key, str) and isinstance(path, str)}


def _notes(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else ()
    return tuple(note for note in items if isinstance(note, str))


_NAMES = {
    "run_id": "runId", "session_id": "sessionId", "requested_model": "requestedModel",
    "resolved_model": "resolvedModel", "created_at_ms": "createdAt", "started_at_ms": "startedAt",
    "finished_at_ms": "finishedAt", "duration_ms": "durationMs", "error_message": "errorMessage",
    "exit_code": "exitCode", "stop_reason": "stopReason",
}  # fmt: skip
_READERS = {
    "requested_model": _optional_text, "resolved_model": _optional_text, "paths": _paths,
    "created_at_ms": _number, "started_at_ms": _optional_number,
    "finished_at_ms": _optional_number, "duration_ms": _number, "exit_code": _optional_number,
    "usage": parse_usage, "notes": _notes,
}  # fmt: skip


def _line(run: BackgroundRun) -> str:
    task = one_line(run.task, _TASK_WIDTH)
    why = f" — {one_line(run.error_message, 200)}" if run.error_message else ""
    preset = f" {one_line(run.preset, 64)}" if run.preset else ""  # a delegation has none
    return f"{run.status}{preset} {run.run_id} (session: {run.session_id}): {task}{why}"


def _ending(run: BackgroundRun) -> list[str]:
    """Return what a run answered, and where the rest is if that is too long to be told here."""
    if not run.ended:
        return []
    output = run.output or messages.NO_TEXT_OUTPUT
    if len(output) <= MAX_TOLD_OUTPUT:
        return ["", output]
    rest = messages.background_output_cut(MAX_TOLD_OUTPUT, len(output), run.session_id)
    return ["", output[:MAX_TOLD_OUTPUT], rest]


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]
