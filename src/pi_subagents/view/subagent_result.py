"""
Tell what the tool `subagent` came to: one answer, or several under their presets.

In: the request and the results in its order.  Out: the tool's value.  States are those of system B
(completed, failed, aborted).  An answer too long to be told here says where the rest is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view import messages
from pi_subagents.view.background import ending_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.preset.request import PresetTask, SubagentRequest
    from pi_subagents.core.run.result import RunResult

MAX_TOLD = 16_384


def subagent_to_json(
    request: SubagentRequest,
    results: Sequence[RunResult],
    models: Sequence[tuple[str | None, str | None]],
) -> dict[str, object]:
    """Return the value of `subagent`; models are those requested and resolved."""
    entries = [
        _entry(task, result, model)
        for task, result, model in zip(request.tasks, results, models, strict=True)
    ]
    if request.parallel:
        done = sum(result.completed for result in results)
        head = messages.parallel_done(done, len(results))
        parts = [
            f"[{number}] {task.preset}: {ending_word(result.status)}\n{_told(result)}"
            for number, (task, result) in enumerate(zip(request.tasks, results, strict=True), 1)
        ]
        text = "\n\n".join([head, *parts])
    else:
        text = _told(results[0])
    details = {"mode": "parallel" if request.parallel else "single", "results": entries}
    return {"content": [{"type": "text", "text": text}], "details": details, "isError": False}


def _told(result: RunResult) -> str:
    if not result.completed:
        said = f"\n\n{_answer(result)}" if result.output else ""
        status = ending_word(result.status)
        return f"{messages.subagent_failed(status, result.error_message)}{said}"
    return _answer(result)


def _answer(result: RunResult) -> str:
    output = result.output or core_messages.NO_TEXT_OUTPUT
    if len(output) <= MAX_TOLD:
        return output
    rest = messages.background_output_cut(MAX_TOLD, len(output), result.session_id)
    return f"{output[:MAX_TOLD]}\n{rest}"


def _entry(
    task: PresetTask, result: RunResult, model: tuple[str | None, str | None]
) -> Mapping[str, object]:
    requested, resolved = model
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
