"""
Background runs as a host sees them: rows, counts, and records for its own session log.

In: records of runs.  Out: plain JSON values and text.  The states are those of
`background_agent_status` (running, completed, failed, aborted): an interrupted run counts as
failed, so that counts add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import files
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.question import question_to_model, waiting_part
from pi_subagents.core.run.record import RunProgress, RunRecord, meta_from_json, short_id
from pi_subagents.core.run.result import SCHEMA_VERSION as RESULT_VERSION
from pi_subagents.core.run.result import result_from_json, value_to_json, work_to_json
from pi_subagents.core.session.next_calls import go_on
from pi_subagents.core.usage import usage_from_json, usage_to_json
from pi_subagents.core.value import replace
from pi_subagents.view import messages
from pi_subagents.view.amounts import large
from pi_subagents.view.inline_answers import facts

if TYPE_CHECKING:
    from pi_subagents.core.preset.request import StatusRequest

RUN_ENTRY = "pi-subagents:bg-run"
UPDATE_ENTRY = "pi-subagents:bg-update"
END_MESSAGE = "pi-subagents:bg-end"
VERSION = 1
MAX_ENTRY_OUTPUT = 8192
MAX_SHOWN_OUTPUT = 8192
MAX_ROWS = 200
_TASK_WIDTH = 60
_ENDED = ("completed", "failed", "aborted")


def background_status(run: RunRecord) -> str:
    """Return how a run stands, in a word of `background_agent_status`."""
    return "running" if run.active else ending_word(run.status)


def ending_word(status: str) -> str:
    """Return how a run ended, in such a word."""
    return status if status in ("completed", "aborted") else "failed"


def text_answer(text: str, details: Mapping[str, object]) -> dict[str, object]:
    """Return the value of a tool: a text for the model, details for the host."""
    return {"content": [{"type": "text", "text": text}], "details": details, "isError": False}


def never_started(run: RunRecord) -> bool:
    """Return whether a run ended before it could begin."""
    return not run.active and not run.meta.started_at_ms


def counts(runs: Iterable[RunRecord]) -> dict[str, int]:
    """Return how many runs are in which state, and how many there are."""
    found = Counter(map(background_status, runs))
    return {**{state: found[state] for state in ("running", *_ENDED)}, "total": found.total()}


def footer(counted: Mapping[str, int]) -> str:
    """Return the one line a host keeps in view."""
    return f"bg: {counted['running']} running / {counted['total']} total"


def listed(runs: Sequence[RunRecord], request: StatusRequest) -> list[RunRecord]:
    """Return the runs to list: the one that was asked for, else the active ones or all."""
    if request.run_id is not None:
        return [run for run in runs if run.run_id == request.run_id]
    return [run for run in runs if request.include_completed or run.active][:MAX_ROWS]


def started_to_json(run: RunRecord, runs: Sequence[RunRecord]) -> dict[str, object]:
    """Return the value of `background_agent`."""
    text = messages.background_started(run.meta.preset, run.run_id)
    if never_started(run):
        text = messages.background_not_started(run.meta.preset, run.run_id, run.error_message)
    details = {**row_to_json(run), "counts": counts(runs)}
    return text_answer(text, details)


def status_to_json(
    runs: Sequence[RunRecord],
    request: StatusRequest,
    family: str,
    to_count: Sequence[RunRecord] | None = None,
) -> dict[str, object]:
    """Return the value of `background_agent_status`; a host counts its own runs only."""
    shown = listed(runs, request)
    counted = counts(runs if to_count is None else to_count)
    lines = [footer(counted), *(_line(run) for run in shown)]
    if request.run_id is not None:
        lines += [line for run in shown for line in _ending(run, family)]
    details = {"counts": counted, "runs": [_row(run, family) for run in shown]}
    return text_answer("\n".join(lines), details)


def stopped_to_json(
    stopped: Sequence[RunRecord], runs: Sequence[RunRecord], family: str
) -> dict[str, object]:
    """Return the value of `background_agent_stop`."""
    counted = counts(runs)
    ended = sum(run.status == "aborted" for run in stopped)  # others had answered by then
    lines = [messages.background_stopped(ended), footer(counted)]
    details = {"counts": counted, "runs": [_row(run, family) for run in stopped]}
    lines += [_line(run) for run in stopped]
    return text_answer("\n".join(lines), details)


# Records in a host's session log


def run_entry(run: RunRecord) -> dict[str, object]:
    """Return the record of a launch."""
    return {"version": VERSION, **row_to_json(run)}


def update_entry(run: RunRecord) -> dict[str, object]:
    """Return the record of an end: compact, the whole is in the run directory."""
    row = row_to_json(run)
    kept = (
        "runId",
        "status",
        "finishedAt",
        "durationMs",
        "errorMessage",
        "exitCode",
        "model",
        "usage",
    )
    cut = run.output[:MAX_ENTRY_OUTPUT]
    fits = run.result is not None and len(run.result.value_text) <= MAX_ENTRY_OUTPUT
    value = value_to_json(run.result) if fits else {}
    return {"version": VERSION, **{key: row[key] for key in kept}, "output": cut, **value}


def rebuild(entries: Iterable[object]) -> dict[str, RunRecord]:
    """Return the runs in a host's log; what cannot be read is skipped."""
    found: dict[str, RunRecord] = {}
    for kind, run_id, data in _read(entries):
        if kind == RUN_ENTRY:
            found[run_id] = _run_of(run_id, data)
        elif kind == UPDATE_ENTRY and run_id in found:
            found[run_id] = _run_of(run_id, {**row_to_json(found[run_id]), **data})
    return found


def usage_entry(run: RunRecord) -> dict[str, object]:
    """Return the record of an end whose usage the host has counted."""
    return {**update_entry(run), "usageTold": True}


def usage_counted(entries: Iterable[object]) -> set[str]:
    """Return the runs whose usage a host has counted, by its log."""
    return {run_id for _, run_id, data in _read(entries) if data.get("usageTold") is True}


def _read(entries: Iterable[object]) -> Iterator[tuple[object, str, Mapping[str, object]]]:
    """Yield the kind, the run id and the data of every entry about a run."""
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(data := entry.get("data"), Mapping):
            continue
        if isinstance(run_id := data.get("runId"), str):
            yield entry.get("customType"), run_id, data


def row_to_json(run: RunRecord) -> dict[str, object]:
    """Return a run as the rows of all answers hold it."""
    meta, result = run.meta, run.result
    return {
        "runId": run.run_id,
        "sessionId": run.session_id,
        "preset": meta.preset,
        "task": meta.task,
        "cwd": meta.cwd,
        "requestedModel": meta.requested_model or None,
        "resolvedModel": meta.resolved_model or None,
        "createdAt": meta.created_at_ms,
        "paths": _paths(run.path),
        "startedAt": meta.started_at_ms or None,
        "status": background_status(run),
        "finishedAt": result.finished_at_ms or None if result else None,
        "durationMs": run.duration_ms,
        "output": run.output,
        **value_to_json(result),
        "errorMessage": run.error_message or None,
        "exitCode": run.exit_code,
        "stopReason": result.stop_reason if result else "",
        "model": run.model_used or None,
        "usage": usage_to_json(run.usage),
        "notes": list(result.notes) if result else [],
        **work_to_json(result),
        **waiting_part(run.waiting_for),
        **({"resumed": run.resumed} if run.resumed else {}),
    }


def _paths(run_dir: str) -> dict[str, str]:
    """Return where the artifacts of a run are, whether they are there yet or not."""
    if not run_dir:
        return {}
    return {"runDir": run_dir, **{key: f"{run_dir}/{name}" for key, name in _FILES.items()}}


def _run_of(run_id: str, data: Mapping[str, object]) -> RunRecord:
    """Return the run of a row; an end has what its result had."""
    paths = data.get("paths")
    path = paths.get("runDir") if isinstance(paths, Mapping) else ""
    meta = meta_from_json({**data, "attached": False, "notes": None})
    run = RunRecord(run_id, meta, path=path if isinstance(path, str) else "")
    # A row has the words of a result; when the run began stands in it once.
    result = result_from_json({**data, "schemaVersion": RESULT_VERSION, "startedAt": None})
    if data.get("status") in _ENDED and result is not None:
        return replace(run, result=result)
    usage, took = usage_from_json(data.get("usage")), data.get("durationMs")
    elapsed_ms = took if type(took) is int else 0
    return replace(run, progress=RunProgress("running", usage), elapsed_ms=elapsed_ms)


_FILES = {
    "meta": files.META, "events": files.EVENTS, "result": files.RESULT, "stdout": files.STDOUT,
    "stderr": files.STDERR, "transcript": files.TRANSCRIPT, "childSession": files.CHILD_SESSION,
    "systemPrompt": files.SYSTEM_PROMPT,
}  # fmt: skip


def _line(run: RunRecord) -> str:
    task = f"{large(run.usage)} {one_line(run.meta.task, _TASK_WIDTH)}".lstrip()
    why = f" — {one_line(run.error_message, 200)}" if run.error_message else ""
    why += f" [{run.work}]" if run.work else ""
    preset = f" {one_line(run.meta.preset, 64)}" if run.meta.preset else ""  # a delegation has none
    if run.question is not None:
        why = f" — {run_messages.asks(one_line(run.question.text, 200))}"
    elif run.why_it_waits:
        why = f" — {run.why_it_waits}"
    ids = f"{run.short_id} (session: {short_id(run.session_id)})"
    return f"{background_status(run)}{preset} {ids}: {task}{why}"


def _row(run: RunRecord, family: str) -> dict[str, object]:
    return {**row_to_json(run), "nextCall": next_call(run, family) or None}


def next_call(run: RunRecord, family: str) -> str:
    """Return how to go on with a run; empty where it goes on, is done, or never began."""
    said = run.output or (run.result is not None and run.result.message_count)
    if run.active or run.status == "completed" or not said:
        return ""
    return go_on(
        run.session_id,
        run.name,
        family,
        error_message=run.error_message,
        timeout_s=run.meta.timeout_s,
    )


def ending_facts(run: RunRecord, family: str) -> list[str]:
    """Return what is known of a run that ended, beside its answer: lines above that."""
    call = next_call(run, family)
    return [
        *filter(None, [run.work, facts(run.model_used, run.usage)]),
        *([messages.to_go_on(call)] if call else []),
        *([f"{messages.LAST_WORDS}:"] if run.output and run.status != "completed" else []),
    ]


def _ending(run: RunRecord, family: str) -> list[str]:
    """Return what a run answered, and where the rest is if that is too long to stand here."""
    if run.active:
        if run.question is None:
            return ["", run.why_it_waits] if run.why_it_waits else []
        return ["", question_to_model(run.question)]
    output = run.output or core_messages.NO_TEXT_OUTPUT
    known = ending_facts(run, family)
    if len(output) <= MAX_SHOWN_OUTPUT:
        return [*known, "", output]
    rest = messages.background_output_cut(MAX_SHOWN_OUTPUT, len(output), run.session_id)
    return [*known, "", output[:MAX_SHOWN_OUTPUT], rest]
