"""
Tell of a delegation that goes on when its caller cannot be kept waiting any longer.

In: its windows, the results that are there, and what each task said last.  Out: a truthful answer
in the shape of the finished one: what is done is told, what is not says `running`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.result import tool_status
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view import messages
from pi_subagents.view.background import ending_word
from pi_subagents.view.summary import summary_line
from pi_subagents.view.window_view import global_status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.preset.request import SubagentRequest
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.view.window import Window

_MAX_SAID = 120


def unfinished_to_json(
    windows: Sequence[Window],
    results: Mapping[int, RunResult],
    said: Mapping[int, str],
    *,
    after_s: float,
    wait_s: float,
    asked: SubagentRequest | None = None,
    can_stop: bool = True,
) -> dict[str, object]:
    """
    Return the value of a delegation as it stands.

    Results, and what was said last, are by the place of their task.

    With what was asked it is that of `subagent`, else that of `delegate_to_subagents`.
    """
    running = len(windows) - len(results)
    lines = [messages.still_running(after_s, running, len(windows))]
    entries = []
    for index, window in enumerate(windows):
        result = results.get(index)
        profile = "" if asked else window.title.profile  # a preset's window names the preset
        lines.append(summary_line(result, profile) if result else _line(window, said.get(index)))
        preset = asked.tasks[index].preset if asked else None
        entries.append(_entry(window, result, preset))
    lines.append(messages.how_to_get_the_rest(wait_s, can_stop=can_stop))
    details: dict[str, object] = {
        "status": "running",
        "sessionIds": [window.title.session_id for window in windows],
        "results": entries,
    }
    if asked:
        details["mode"] = "parallel" if asked.parallel else "single"
    return {
        "content": [{"type": "text", "text": "\n".join(lines)}],
        "details": details,
        "isError": False,
    }


def progress_line(windows: Sequence[Window], latest: tuple[int, str] | None) -> str:
    """Return how a delegation stands, with what the task that spoke last said."""
    status = global_status(windows)
    if latest is None:
        return status
    index, text = latest
    name = one_line(windows[index].title.name, 40)
    return f"{status} — {name}: {one_line(text, _MAX_SAID)}"


def _line(window: Window, said: str | None) -> str:
    told = f"{window.status} — {one_line(said, _MAX_SAID)}" if said else window.status
    name = one_line(window.title.name, 60)
    return f"⏳ {name}: {told} (session: {window.title.session_id})"


def _entry(window: Window, result: RunResult | None, preset: str | None) -> dict[str, object]:
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
