"""
What the tools that delegate answer: the results of their tasks, or how the work stands so far.

In: windows and results in the order of the tasks.  Out: text and plain JSON values.  Tasks with a
preset have the states of system B (completed, failed, aborted).  What is not done yet is `running`;
an answer that is too long here names where the rest is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pi_subagents.core.messages import MAX_MESSAGE, NO_TEXT_OUTPUT
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.result import RunResult, tool_status
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view import messages
from pi_subagents.view.background import ending_word, text_answer
from pi_subagents.view.window_view import global_status, window_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.preset.request import PresetTask, SubagentRequest
    from pi_subagents.view.window import Window

MAX_ANSWER = 16_384
MAX_OUTPUT = 4_000  # characters in the details, of each of sixteen tasks
MAX_LISTED_OUTPUT = 200  # of each of two hundred background runs
_MAX_SAID = 120


def summary_line(result: RunResult, profile: str = "") -> str:
    """Return the line for one task, with the profile it was to run with."""
    mark = "✓" if result.completed else "✗"
    message = one_line(result.error_message, MAX_MESSAGE)
    status = tool_status(result.status) + (f" — {message}" if message else "")
    name, used = (one_line(text, MAX_NAME_LENGTH) for text in (result.name, profile))
    ending = f" [profile: {used}]" if used else ""
    return f"{mark} {name}: {status} (session: {result.session_id}){ending}"


def summary_text(results: Sequence[RunResult], windows: Sequence[Window]) -> str:
    """Return a line per task."""
    return "\n".join(
        summary_line(result, window.title.profile)
        for result, window in zip(results, windows, strict=True)
    )


def delegation_to_json(
    results: Sequence[RunResult], windows: Sequence[Window], *, max_lines: int
) -> dict[str, object]:
    """Return the value of `delegate_to_subagents`."""
    details = {
        "status": "done",
        "maxLines": max_lines,
        "windows": [window_to_json(window) for window in windows],
        "sessionIds": [result.session_id for result in results],
        "results": [_result_to_json(result) for result in results],
    }
    return text_answer(summary_text(results, windows), details)


def _result_to_json(result: RunResult) -> Mapping[str, object]:
    return {
        "name": result.name,
        "sessionId": result.session_id,
        "runId": result.run_id,
        "status": tool_status(result.status),
        "output": result.output,
        "errorMessage": result.error_message or None,
        "exitCode": result.exit_code,
        "durationMs": result.duration_ms,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
    }


def refusal_to_json(message: str) -> dict[str, object]:
    """Return the value of a call that was refused before anything started."""
    return {**text_answer(message, {"isError": True}), "isError": True}


# Tasks with a preset


def subagent_to_json(
    request: SubagentRequest,
    results: Sequence[RunResult],
    models: Sequence[tuple[str | None, str | None]],
) -> dict[str, object]:
    """Return the value of `subagent`; models are those requested and resolved."""
    text = _preset_answer(results[0])
    if request.parallel:
        done = sum(result.completed for result in results)
        parts = [
            f"[{number}] {task.preset}: {ending_word(result.status)}\n{_preset_answer(result)}"
            for number, (task, result) in enumerate(zip(request.tasks, results, strict=True), 1)
        ]
        text = "\n\n".join([messages.parallel_done(done, len(results)), *parts])
    entries = [
        _preset_result_to_json(task, result, *model)
        for task, result, model in zip(request.tasks, results, models, strict=True)
    ]
    return text_answer(text, {"mode": _mode(request), "results": entries})


def _mode(request: SubagentRequest) -> str:
    return "parallel" if request.parallel else "single"


def _preset_answer(result: RunResult) -> str:
    answer = result.output or NO_TEXT_OUTPUT
    if len(answer) > MAX_ANSWER:
        rest = messages.background_output_cut(MAX_ANSWER, len(answer), result.session_id)
        answer = f"{answer[:MAX_ANSWER]}\n{rest}"
    if result.completed:
        return answer
    failure = messages.subagent_failed(ending_word(result.status), result.error_message)
    return f"{failure}\n\n{answer}" if result.output else failure


def _preset_result_to_json(
    task: PresetTask, result: RunResult, requested: str | None, resolved: str | None
) -> Mapping[str, object]:
    return {
        "preset": task.preset,
        "task": task.task,
        "cwd": task.cwd,
        "requestedModel": requested,
        "resolvedModel": resolved,
        "runId": result.run_id,
        "sessionId": result.session_id,
        "status": ending_word(result.status),
        "output": result.output,
        "errorMessage": result.error_message or None,
        "exitCode": result.exit_code,
        "stopReason": result.stop_reason or None,
        "startedAt": result.started_at_ms,
        "finishedAt": result.finished_at_ms,
        "durationMs": result.duration_ms,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
    }


# Work that goes on when its caller cannot be kept waiting any longer


def unfinished_to_json(
    windows: Sequence[Window],
    results: Mapping[int, RunResult],
    said: Mapping[int, str],
    *,
    after_s: float,
    wait_s: float,
    request: SubagentRequest | None = None,
    can_stop: bool = True,
) -> dict[str, object]:
    """
    Return the value of a delegation as it stands; results and last words are by place of the task.

    With a request it is that of `subagent`, else that of `delegate_to_subagents`.
    """
    running = len(windows) - len(results)
    lines = [messages.still_running(after_s, running, len(windows))]
    entries = []
    for index, window in enumerate(windows):
        result = results.get(index)
        profile = "" if request else window.title.profile  # a preset's window names the preset
        line = summary_line(result, profile) if result else _working(window, said.get(index))
        lines.append(line)
        preset = request.tasks[index].preset if request else None
        entries.append(_standing_to_json(window, result, preset))
    lines.append(messages.how_to_get_the_rest(wait_s, can_stop=can_stop))
    details: dict[str, object] = {
        "status": "running",
        "sessionIds": [window.title.session_id for window in windows],
        "results": entries,
    }
    if request:
        details["mode"] = _mode(request)
    return text_answer("\n".join(lines), details)


def progress_line(windows: Sequence[Window], latest: tuple[int, str] | None) -> str:
    """Return how a delegation stands, with what the task that spoke last said."""
    status = global_status(windows)
    if latest is None:
        return status
    index, text = latest
    name = one_line(windows[index].title.name, 40)
    return f"{status} — {name}: {one_line(text, _MAX_SAID)}"


def _working(window: Window, said: str | None) -> str:
    status = window.status + (f" — {one_line(said, _MAX_SAID)}" if said else "")
    return f"⏳ {one_line(window.title.name, 60)}: {status} (session: {window.title.session_id})"


def _standing_to_json(
    window: Window, result: RunResult | None, preset: str | None
) -> dict[str, object]:
    title = window.title
    entry: dict[str, object] = {"sessionId": title.session_id, "output": "", "errorMessage": None}
    entry |= {"name": title.name} if preset is None else {"preset": preset}
    if result is None:
        return {**entry, "status": "running", "usage": usage_to_json(window.usage)}
    state = tool_status if preset is None else ending_word
    return {
        **entry,
        "runId": result.run_id,
        "status": state(result.status),
        "output": result.output,
        "errorMessage": result.error_message or None,
        "durationMs": result.duration_ms,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
    }


# Details of a bounded size


def with_short_rows(answer: Mapping[str, object]) -> dict[str, object]:
    """Return the answer of a background tool; its text has what one run answered."""
    details = answer["details"]
    assert isinstance(details, Mapping)
    rows = details["runs"]
    most = MAX_OUTPUT if len(rows) == 1 else MAX_LISTED_OUTPUT
    short = [with_short_output(row, most) for row in rows]
    return {**answer, "details": {**details, "runs": short}}


def with_short_output(result: Mapping[str, object], most: int) -> dict[str, object]:
    """Return one result whose output has at most so many characters; a cut is marked."""
    output = str(result["output"])
    if len(output) <= most:
        return dict(result)
    return {**result, "output": output[:most], "outputTruncated": True}
