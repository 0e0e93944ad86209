"""
A window as a face shows it: its header, its JSON, which lines to paint.

In: Windows.  Out: plain text, plain JSON values, lines.  Colours, widths and redrawing are the
face's business; for pi, `window_picture.py` chooses colours.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.task.request import MAX_NAME_LENGTH, is_unnamed
from pi_subagents.core.usage import usage_to_json
from pi_subagents.view import messages
from pi_subagents.view.amounts import marked
from pi_subagents.view.states import shown_state
from pi_subagents.view.time_spent import age, length
from pi_subagents.view.toolcall import counted
from pi_subagents.view.window import WindowLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.core.usage import Usage
    from pi_subagents.view.states import ShownState
    from pi_subagents.view.window import Window, WindowStatus, WindowTitle

SEPARATOR = " • "
ENDED_SEPARATOR = " · "
STATUS_OF_ALL = "Sub-agents: "
# Of a header that does not fit, in this order.
_LEAST_FIRST = ("spent", "files", "tools", "label")

_STATES: Mapping[WindowStatus, str] = {  # in the words of the core
    "running": "running", "queued": "planned", "completed": "completed", "error": "failed",
    "stopped": "aborted", "interrupted": "interrupted",
}  # fmt: skip
_HOST_WORDS: Mapping[WindowStatus, tuple[str, str]] = {  # those of the seeds, where they have one
    "running": ("running", "running"), "queued": ("queued", "queued"),
    "completed": ("done", "done"), "error": ("error", "errors"),
    "stopped": ("stopped", "stopped"), "interrupted": ("interrupted", "interrupted"),
}  # fmt: skip
MAX_TITLE = 60
NEAR = 0.8  # of its time-out: from then on a window shows it
_THOUSAND = 1000


def window_state(window: Window) -> ShownState:
    """Return how a window stands, as every screen shows it."""
    return shown_state(_STATES[window.status], no_answer=window.no_answer)


def state_counts(windows: Iterable[Window]) -> list[tuple[ShownState, str]]:
    """Return how many windows stand how, each count on its own, as every screen shows it."""
    found = Counter(window.status for window in windows)
    states = [(shown_state(state), found[status]) for status, state in _STATES.items()]
    return [(state, f"{count} {state.word}") for state, count in states if count]


def window_name(window: Window) -> str:
    """Return the name above a window."""
    return _word(window.title.name)


def elapsed(window: Window) -> str:
    """Return how long it has been at work; its time-out where that is near, or was extended."""
    limit_ms = (window.title.timeout_s or 0) * 1000
    if not limit_ms or window.elapsed_ms < NEAR * limit_ms:
        return age(window.elapsed_ms)
    extended = window.status == "running" and window.elapsed_ms > limit_ms
    took, limit = length(window.elapsed_ms), length(int(limit_ms))
    return f"{took} of {limit}" + (", extended" if extended else "")


def host_elapsed(window: Window) -> str:
    """Return how long it has been at work as the seeds show it: beside its time-out."""
    limit_s = window.title.timeout_s
    return f"{window.elapsed_ms // 1000}s" + (f"/{limit_s:g}s" if limit_s else "")


def window_title(window: Window) -> str:
    """Return what a person knows a task by: its name or, without one, how its prompt begins."""
    title = window.title
    return one_line(title.prompt, MAX_TITLE) if is_unnamed(title.name) else window_name(window)


def header_rests(window: Window, waits: str, clock: str) -> Iterator[str]:
    """Yield what stands behind the name: all of it, then without what matters least, and so on."""
    title, todo = window.title, window.todo
    segments = {
        "label": _label(title),
        # A child whose tools are not named has all there are; how many is not known here.
        "tools": "" if title.tool_count is None else counted(title.tool_count, "tool"),
        "files": counted(title.file_count, "file") if title.file_count else "",
        "todo": f"[{todo.completed}/{todo.total}]" if todo.unfinished else "",
        "work": window.work,
        "waits": waits,
        "elapsed": clock,
        "spent": spent(window.usage),
    }
    for least in ("", *_LEAST_FIRST):
        if segments.pop(least, "") or not least:
            yield "".join(SEPARATOR + text for text in segments.values() if text)


def ended_rests(window: Window) -> Iterator[str]:
    """Yield what stands behind the name of one that ended: all of it, then without its figures."""
    took = length(window.elapsed_ms)
    word = "" if window.status == "completed" else window_state(window).word
    calls = counted(window.call_count, "call") if window.call_count else ""
    for parts in ((word, window.work, calls, spent(window.usage), took), (word, took)):
        yield "".join(ENDED_SEPARATOR + text for text in parts if text)


def global_status(windows: Iterable[Window]) -> str:
    """Return the line above all windows, for hosts; a count of zero is left out."""
    return STATUS_OF_ALL + counted_statuses(windows, _HOST_WORDS)


def counted_statuses(windows: Iterable[Window], wanted: Iterable[WindowStatus]) -> str:
    """Return how many windows have which of these statuses; a count of zero is left out."""
    return ", ".join(text for _, text in status_counts(windows, wanted))


def status_counts(
    windows: Iterable[Window], wanted: Iterable[WindowStatus] = _HOST_WORDS
) -> list[tuple[WindowStatus, str]]:
    """Return how many windows have which of these statuses, each count on its own."""
    found = Counter(window.status for window in windows)
    return [
        (status, counted(found[status], *_HOST_WORDS[status])) for status in wanted if found[status]
    ]


def places(windows: Iterable[Window]) -> list[int]:
    """Return where in the queue each window stands, from 1; 0 for one that does not wait."""
    found: list[int] = []
    waiting = 0
    for window in windows:
        waiting += window.status == "queued"
        found.append(waiting if window.status == "queued" else 0)
    return found


def shown_lines(window: Window, *, expanded: bool) -> tuple[WindowLine, ...]:
    """Return the lines to paint: the latest or, expanded, the history; never none."""
    starts = not expanded and window.status in ("queued", "running")
    none = messages.WINDOW_STARTING if starts else messages.WINDOW_NO_OUTPUT
    return (window.history if expanded else window.lines) or (WindowLine.said(none),)


def window_to_json(window: Window) -> dict[str, object]:
    """Return the window as faces in other languages get it: how it stands, its latest lines."""
    lines = [{"text": line.text, "kind": line.kind} for line in window.lines]
    return {**state_to_json(window), "lines": lines}


def state_to_json(window: Window) -> dict[str, object]:
    """Return who the sub-agent is, and how it stands."""
    title, todo = window.title, window.todo
    return {
        "name": _word(title.name),
        "profile": _word(title.profile) or None,
        "provider": _word(title.provider) or None,
        "model": _word(title.model) or None,
        "thinkingLevel": _word(title.thinking_level) or None,
        "toolCount": title.tool_count,
        "fileCount": title.file_count,
        "timeoutS": title.timeout_s,
        "sessionId": title.session_id or None,
        "status": host_status(window),
        "callCount": window.call_count,
        "todo": {"completed": todo.completed, "total": todo.total} if todo.unfinished else None,
        "startedAt": window.started_at_ms,
        "elapsedMs": window.elapsed_ms,
        "errorMessage": window.error_message or None,
        "usage": usage_to_json(window.usage),
        **({"engine": _word(title.engine)} if title.engine else {}),
        **({"work": window.work} if window.work else {}),
    }


def host_status(window: Window) -> str:
    """Return how a window stands in the seeds' words: whatever is not completed is an error."""
    return "error" if window.status in ("stopped", "interrupted") else window.status


def spent(usage: Usage) -> str:
    """Return tokens and cost, as far as the child reports them."""
    if not usage.total_tokens:
        return ""
    count = usage.total_tokens
    tokens = f"{count / _THOUSAND:.1f}k" if count >= _THOUSAND else f"{count}"
    return f"{marked(tokens, usage)} tokens" + (f" ${usage.cost:.4f}" if usage.cost else "")


def _label(title: WindowTitle) -> str:
    """Return `profile (engine provider/model thinking)`, or what there is of it, if it has any."""
    engine = _word(title.engine)
    if not title.profile:
        return engine
    model = "/".join(_word(part) for part in (title.provider, title.model) if part)
    details = " ".join(part for part in (engine, model, _word(title.thinking_level)) if part)
    return _word(title.profile) + (f" ({details})" if details else "")


def _word(text: str) -> str:
    return one_line(text, MAX_NAME_LENGTH)
