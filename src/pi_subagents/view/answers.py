"""
What the tools that delegate answer: the results of their tasks, or how the work stands so far.

In: windows and results in the order of the tasks.  Out: text and plain JSON values.  Tasks with a
preset have the states of system B (completed, failed, aborted).  What is not done yet is `running`;
an answer that is too long here names where the rest is.  The answers themselves stand in a text of
their own, behind the lines that the tools have always answered with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pi_subagents.core.messages import MAX_MESSAGE, NO_TEXT_OUTPUT, NOTE_EMPTY_ANSWER
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.messages import asks_model
from pi_subagents.core.run.question import waiting_to_json
from pi_subagents.core.run.result import RunResult, tool_status, value_to_json, work_to_json
from pi_subagents.core.session.next_calls import go_on
from pi_subagents.core.session.retrieval import with_words
from pi_subagents.core.task.request import MAX_NAME_LENGTH
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view import messages
from pi_subagents.view.background import ending_word, text_answer
from pi_subagents.view.failure import reason_line
from pi_subagents.view.inline_answers import EndedTask, inline_text
from pi_subagents.view.window_view import global_status, host_status, window_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_subagents.core.preset.request import PresetTask, SubagentRequest
    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.core.settings import Settings
    from pi_subagents.view.window import Window

MAX_ANSWER = 16_384
MAX_OUTPUT = 4_000  # characters in the details, of each of sixteen tasks
MAX_LISTED_OUTPUT = 200  # of each of two hundred background runs
_MAX_SAID = 120


def summary_line(result: RunResult, profile: str = "") -> str:
    """Return the line for one task, with the profile it was to run with."""
    mark = "⚠" if result.no_answer else "✓" if result.completed else "✗"
    why = reason_line(result.error_message, MAX_MESSAGE)
    message = NOTE_EMPTY_ANSWER if result.no_answer else why
    status = tool_status(result.status) + (f" — {message}" if message else "")
    name, used = (one_line(text, MAX_NAME_LENGTH) for text in (result.name, profile))
    ending = f" [profile: {used}]" if used else ""
    ending += f" [{result.work}]" if result.work else ""
    return f"{mark} {name}: {status} (session: {result.session_id}){ending}"


def summary_text(results: Sequence[RunResult], windows: Sequence[Window]) -> str:
    """Return a line per task."""
    return "\n".join(
        summary_line(result, window.title.profile)
        for result, window in zip(results, windows, strict=True)
    )


def delegation_to_json(
    results: Sequence[RunResult], windows: Sequence[Window], settings: Settings
) -> dict[str, object]:
    """Return the value of `delegate_to_subagents`."""
    ended = _ended_tasks(dict(enumerate(results)), settings, _timeouts(windows))
    details = {
        "status": "done",
        "maxLines": settings.max_lines_per_window,
        "windows": [window_to_json(window) for window in windows],
        "sessionIds": [result.session_id for result in results],
        "results": [_result_to_json(task) for task in ended],
    }
    return _with_answers(summary_text(results, windows), details, ended, settings)


def _ended_tasks(
    results: Mapping[int, RunResult],
    settings: Settings,
    timeouts: Sequence[float | None],
    request: SubagentRequest | None = None,
) -> list[EndedTask]:
    """Return what has ended, in the words of `subagent` if it was asked for with a request."""
    return [
        EndedTask(
            index + 1,
            request.tasks[index].preset if request else result.name,
            (ending_word if request else tool_status)(result.status),
            result,
            _next_call(result, settings, timeouts[index]),
        )
        for index, result in sorted(results.items())
    ]


def _timeouts(windows: Sequence[Window]) -> list[float | None]:
    return [window.title.timeout_s for window in windows]


def _next_call(result: RunResult, settings: Settings, timeout_s: float | None) -> str:
    """Return how to go on with a task; empty where it is done, or has nothing to go on with."""
    if result.completed or not result.message_count:
        return ""
    why = result.error_message
    return go_on(
        result.session_id, result.name, settings.tools, error_message=why, timeout_s=timeout_s
    )


def _with_answers(
    text: str, details: Mapping[str, object], ended: Sequence[EndedTask], settings: Settings
) -> dict[str, object]:
    """Return a tool's value with the answers behind its text."""
    room = settings.inline_answers
    limits = {"inlineAnswers": {"each": room.each, "call": room.call}}
    answers = filter(None, [inline_text(ended, room)])
    return with_words(text_answer(text, {**details, **limits}), *answers)


def all_failed(answer: Mapping[str, Any]) -> bool:
    """Return whether every task of a call ended without an answer."""
    details = answer["details"]
    results = details.get("results", ())
    goes_on = details.get("status") == "running"
    return bool(results) and not goes_on and all(r["status"] != "completed" for r in results)


def _result_to_json(task: EndedTask) -> Mapping[str, object]:
    result = task.result
    return {
        "name": result.name,
        "sessionId": result.session_id,
        "runId": result.run_id,
        "status": task.status,
        "output": result.output,
        **value_to_json(result),
        "errorMessage": result.error_message or None,
        "nextCall": task.next_call or None,
        "exitCode": result.exit_code,
        "durationMs": result.duration_ms,
        "model": result.model_used or None,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
        **work_to_json(result),
        **_resumed(result),
    }


def _resumed(result: RunResult) -> Mapping[str, object]:
    """Return how the session went on, where it did."""
    return {"resumed": result.resumed} if result.resumed else {}


def refusal_to_json(message: str) -> dict[str, object]:
    """Return the value of a call that was refused before anything started."""
    return {**text_answer(message, {"isError": True}), "isError": True}


# Tasks with a preset


def subagent_to_json(
    request: SubagentRequest,
    results: Sequence[RunResult],
    models: Sequence[tuple[str | None, str | None]],
    settings: Settings,
) -> dict[str, object]:
    """Return the value of `subagent`; models are those requested and resolved."""
    timeouts = [settings.foreground_timeout] * len(results)
    ended = _ended_tasks(dict(enumerate(results)), settings, timeouts, request)
    if settings.inline_answers.each:
        parts = [_preset_line(task) for task in ended]
    elif request.parallel:
        parts = [f"{task.title}: {task.status}\n{_preset_answer(task.result)}" for task in ended]
    else:
        parts = [_preset_answer(results[0])]
    if request.parallel:
        done = messages.parallel_done(sum(each.completed for each in results), len(results))
        parts = [done, *(f"[{number}] {part}" for number, part in enumerate(parts, 1))]
    entries = [
        _preset_result_to_json(asked, task, *model)
        for asked, task, model in zip(request.tasks, ended, models, strict=True)
    ]
    details = {"mode": _mode(request), "results": entries}
    return _with_answers("\n\n".join(parts), details, ended, settings)


def _mode(request: SubagentRequest) -> str:
    return "parallel" if request.parallel else "single"


def _preset_line(task: EndedTask) -> str:
    result = task.result
    why = reason_line(result.error_message, MAX_MESSAGE)
    status = task.status + (f" — {why}" if why else "")
    ending = f" [{result.work}]" if result.work else ""
    return f"{task.title}: {status} (session: {result.session_id}){ending}"


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
    asked: PresetTask, task: EndedTask, requested: str | None, resolved: str | None
) -> Mapping[str, object]:
    result = task.result
    return {
        "preset": asked.preset,
        "task": asked.task,
        "cwd": asked.cwd,
        "requestedModel": requested,
        "resolvedModel": resolved,
        "runId": result.run_id,
        "sessionId": result.session_id,
        "status": task.status,
        "output": result.output,
        **value_to_json(result),
        "errorMessage": result.error_message or None,
        "nextCall": task.next_call or None,
        "exitCode": result.exit_code,
        "stopReason": result.stop_reason or None,
        "startedAt": result.started_at_ms,
        "finishedAt": result.finished_at_ms,
        "durationMs": result.duration_ms,
        "model": result.model_used or None,
        "usage": usage_to_json(result.usage),
        "notes": list(result.notes),
        **work_to_json(result),
    }


# Work that goes on when its caller cannot be kept waiting any longer


def unfinished_to_json(
    windows: Sequence[Window],
    results: Mapping[int, RunResult],
    said: Mapping[int, str],
    settings: Settings,
    *,
    after_s: float,
    wait_s: float,
    request: SubagentRequest | None = None,
    can_stop: bool = True,
    asked: Mapping[int, Sequence[WaitingFor]] = MappingProxyType({}),
) -> dict[str, object]:
    """
    Return the value of a delegation as it stands; results and last words are by place of the task.

    With a request it is that of `subagent`, else that of `delegate_to_subagents`.
    """
    running = len(windows) - len(results)
    ended = _ended_tasks(results, settings, _timeouts(windows), request)
    by_index = {task.place - 1: task for task in ended}
    lines = [messages.still_running(after_s, running, len(windows))]
    entries = []
    for index, window in enumerate(windows):
        task = by_index.get(index)
        profile = "" if request else window.title.profile  # a preset's window names the preset
        line = summary_line(task.result, profile) if task else _working(window, said.get(index))
        lines.append(line)
        questions = asked.get(index, ())
        lines += [asks_model(each.text, each.options) for each in questions]
        preset = request.tasks[index].preset if request else None
        entry = _standing_to_json(window, task, preset)
        if questions:
            entry["waitingFor"] = waiting_to_json(questions[0])
        entries.append(entry)
    lines.append(messages.how_to_get_the_rest(wait_s, can_stop=can_stop))
    details: dict[str, object] = {
        "status": "running",
        "sessionIds": [window.title.session_id for window in windows],
        "results": entries,
    }
    if request:
        details["mode"] = _mode(request)
    return _with_answers("\n".join(lines), details, ended, settings)


def progress_line(windows: Sequence[Window], latest: tuple[int, str] | None) -> str:
    """Return how a delegation stands, with what the task that spoke last said."""
    status = global_status(windows)
    if latest is None:
        return status
    index, text = latest
    name = one_line(windows[index].title.name, 40)
    return f"{status} — {name}: {one_line(text, _MAX_SAID)}"


def _working(window: Window, said: str | None) -> str:
    status = host_status(window) + (f" — {one_line(said, _MAX_SAID)}" if said else "")
    return f"⏳ {one_line(window.title.name, 60)}: {status} (session: {window.title.session_id})"


def _standing_to_json(
    window: Window, task: EndedTask | None, preset: str | None
) -> dict[str, object]:
    title = window.title
    entry: dict[str, object] = {"sessionId": title.session_id, "output": "", "errorMessage": None}
    entry |= {"name": title.name} if preset is None else {"preset": preset}
    if task is None:
        return {**entry, "status": "running", "usage": usage_to_json(window.usage)}
    entry |= _result_to_json(task)
    if preset is not None:
        del entry["name"]
    return entry


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
    output, (short, left) = str(result["output"]), with_bounded_value(result, most)
    if len(output) <= left:
        return short
    return {**short, "output": output[:left], "outputTruncated": True}


def with_bounded_value(result: Mapping[str, object], most: int) -> tuple[dict[str, object], int]:
    """Return a result with its value whole or not at all, and the room left for its text."""
    if len(_value_text(result)) <= most:
        return dict(result), most - len(value_beside(result))
    return {**{k: v for k, v in result.items() if k != "value"}, "valueLeftOut": True}, most


def value_beside(result: Mapping[str, object]) -> str:
    """Return the value as it counts: nothing where there is none, or the text is it."""
    value = _value_text(result)
    return "" if value == result["output"] else value


def _value_text(result: Mapping[str, object]) -> str:
    return json.dumps(result["value"], ensure_ascii=False) if "value" in result else ""
