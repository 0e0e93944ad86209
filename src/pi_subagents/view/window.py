"""
What a sub-agent's window shows: who it is, how it stands, its latest lines.

In: events in order with the time of each, at last the run's result.  Out: a Window, any time.
Memory is bounded: `MAX_HISTORY` lines (or as many as the window is high) of `MAX_LINE` characters.

A line is of kind "text" (the child's words, output, standard error), "tool" (a call's preview, see
`toolcall.py`), "failed" (a call that came to nothing) or "steer" (a message to the child at work).
A face paints its mark before it: `→ `, `✗ ` for the first line of a failed call, two blanks for
calls that a script made (`NESTED`) and for all but the first of the lines of a bash preview, which
are as many entries.
What `ls` and `find` found, or why a call failed, is added to the line of the very call, by its id.

Times are milliseconds of one clock, the caller's.  The result has the last word: its duration,
usage and number of calls replace what was counted here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.announced import AnnouncedCalls
from pi_subagents.core.run.progress import ProgressFormatter, failure_reason, steer_text
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace, value
from pi_subagents.view.failure import retry_line
from pi_subagents.view.preview import (
    LineSpan,
    SpanLine,
    continued,
    failed_line,
    line_text,
    shortened_line,
    span_line,
)
from pi_subagents.view.todos import TodoCount, TodoTracker
from pi_subagents.view.toolcall import format_tool_call, summarise_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.run.result import RunResult

MAX_HISTORY = 500
MAX_LINE = 2000
MAX_NOTES = 8
MAX_STEER_TEXT = 1000  # of a message; why it was refused has to fit as well
TAB_WIDTH = 4
MARK, NO_MARK, FAILED_MARK = ("→ ", "  ", "✗ ")
NESTED, NESTED_MORE = ("↳ ", "  ")  # before the preview of a call that another tool made

LineKind = Literal["text", "tool", "failed", "steer"]
WindowStatus = Literal["queued", "running", "completed", "error", "stopped", "interrupted"]
_ENDS: Mapping[str, WindowStatus] = {
    "completed": "completed", "aborted": "stopped", "interrupted": "interrupted",
}  # fmt: skip


@value
class WindowLine:
    """One line: printable, not empty, without line ends and tabs."""

    spans: SpanLine
    kind: LineKind
    mark: str = ""

    @property
    def text(self) -> str:
        """Return it plain, without its mark."""
        return line_text(self.spans)

    @classmethod
    def said(cls, text: str) -> WindowLine:
        """Return a line of the child's own words."""
        return cls((LineSpan(text, "plain"),), "text")


@value
class WindowTitle:
    """What is known of a task before it starts; `tool_count` is None for all tools."""

    name: str
    profile: str = ""
    provider: str = ""
    model: str = ""
    thinking_level: str = ""
    tool_count: int | None = None
    file_count: int = 0
    timeout_s: float | None = 600
    session_id: str = ""
    prompt: str = ""  # its beginning
    engine: str = ""  # where it is not the usual one


@dataclass(frozen=True, slots=True)
class Window:
    """One sub-agent at one instant."""

    title: WindowTitle
    status: WindowStatus = "queued"
    call_count: int = 0
    todo: TodoCount = TodoCount()
    started_at_ms: int | None = None
    elapsed_ms: int = 0
    lines: tuple[WindowLine, ...] = ()
    history: tuple[WindowLine, ...] = ()
    error_message: str = ""
    notes: tuple[str, ...] = ()  # said of the run at its end
    no_answer: bool = False  # completed, but nothing was said
    work: str = ""  # what it changed, and whether that was checked
    usage: Usage = Usage()
    line_count: int = field(default=0, compare=False)  # ever, also those no longer kept


class WindowBuilder:
    """Fold events into a window."""

    def __init__(
        self, title: WindowTitle, *, cwd: str, home: str, max_lines: int = 15, width: int = 160
    ) -> None:
        self._title = title
        self._cwd = cwd
        self._home = home
        self._width = width
        self._max_lines = max(max_lines, 1)
        self._kept: deque[WindowLine] = deque(maxlen=max(MAX_HISTORY, max_lines))
        self._added = 0
        self._open: dict[str, range] = {}  # id of an open call -> the numbers of its lines
        self._todos = TodoTracker()
        self._words = ProgressFormatter()
        self._announced = AnnouncedCalls()
        self._last: ev.AssistantMessage | ev.UserMessage | None = None
        self._settled = False
        self._calls = 0
        self._usage = Usage()
        self._started_at_ms: int | None = None
        self._result: RunResult | None = None

    def apply(self, event: ev.Event, now_ms: int) -> None:
        """Take one event into account."""
        if self._started_at_ms is None and event != ev.StateChanged("planned"):
            self._started_at_ms = now_ms
        self._todos.apply(event)
        if isinstance(event, ev.AssistantMessage | ev.UserMessage):
            self._last, self._settled = event, False
        match event:
            case ev.Settled():
                self._settled = True
            case ev.AssistantMessage():
                self._take_message(event)
            case ev.ToolStarted(call) if call.parent_id or not self._announced.begins(call):
                self._calls += not call.parent_id
                self._take_call(call)
            case ev.ToolFinished():
                self._add_to_its_call(event)
            case ev.ErrorText(text) if not self._has_answered():  # then it would only hide that
                self._say(f"[stderr]: {line}" for line in _lines(text))
            case ev.Steer():
                said = steer_text(event, one_line(event.text, MAX_STEER_TEXT))
                spans = (LineSpan(one_line(said, MAX_LINE), "steer"),)
                self._add(WindowLine(spans, "steer", MARK))
            case ev.Asked() | ev.Replied():
                said = one_line(self._words.text(event), MAX_LINE)
                self._add(WindowLine((LineSpan(said, "steer"),), "steer", MARK))
            case ev.Retrying():
                self._say(_lines(retry_line(event)))
            case ev.OutputText() | ev.Note() | ev.ValueRefused():
                self._say(_lines(self._words.text(event)))

    def finish(self, result: RunResult) -> None:
        """Take the run's result: the window stands still from now on."""
        self._result = result

    def window(self, now_ms: int) -> Window:
        """Return what is to be shown at this time."""
        kept = tuple(self._kept)
        so_far = Window(
            title=self._title,
            call_count=self._calls,
            todo=self._todos.count(),
            lines=kept[-self._max_lines :],
            history=kept[-MAX_HISTORY:],
            usage=self._usage,
            line_count=self._added,
        )
        if self._result is not None:
            return _finished(so_far, self._result, self._started_at_ms)
        if self._started_at_ms is None:
            return so_far
        return replace(
            so_far,
            status="running",
            started_at_ms=self._started_at_ms,
            elapsed_ms=max(0, now_ms - self._started_at_ms),
        )

    def _has_answered(self) -> bool:
        """Return whether it gave a good answer and nothing was asked since."""
        last = self._last
        was_good = isinstance(last, ev.AssistantMessage) and last.stop_reason != "error"
        return self._settled and was_good

    def _take_message(self, message: ev.AssistantMessage) -> None:
        self._announced.answered(message)
        self._calls += len(message.tool_calls)
        self._usage += message.usage
        if not self._title.provider and not self._title.model:
            self._title = replace(self._title, provider=message.provider, model=message.model)
        self._say(_lines(message.text))
        for call in message.tool_calls:
            self._take_call(call)

    def _take_call(self, call: ev.ToolCall) -> None:
        preview = format_tool_call(call, cwd=self._cwd, home=self._home, width=self._width)
        first = self._added
        for number, line in enumerate(preview):
            nested = (NESTED_MORE if number else NESTED) if call.parent_id else ""
            spans = shortened_line(span_line(nested, *line), MAX_LINE)
            self._add(WindowLine(spans, "tool", NO_MARK if nested or number else MARK))
        if call.call_id:
            self._remember(call.call_id, range(first, self._added))

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._add(WindowLine.said(shortened(line, MAX_LINE)))

    def _add(self, line: WindowLine) -> None:
        self._kept.append(line)
        self._added += 1

    def _remember(self, call_id: str, lines: range) -> None:
        self._open.pop(call_id, None)
        if len(self._open) >= MAX_HISTORY:
            self._open.pop(next(iter(self._open)))
        self._open[call_id] = lines

    def _add_to_its_call(self, event: ev.ToolFinished) -> None:
        gone = self._added - len(self._kept)  # lines that have scrolled out of the history too
        lines = [n - gone for n in self._open.pop(event.call_id, ()) if n >= gone]
        for place in lines if event.failed else ():
            line = self._kept[place]
            mark = FAILED_MARK if place == lines[0] else NO_MARK
            why = failure_reason(event) if place == lines[-1] else ""
            spans = shortened_line(failed_line(line.spans, why), MAX_LINE)
            self._kept[place] = WindowLine(spans, "failed", mark)
        if lines and not event.failed and (found := summarise_result(event.name, event.text)):
            line = self._kept[lines[-1]]
            self._kept[lines[-1]] = replace(line, spans=continued(line.spans, " → ", *found))


def _finished(so_far: Window, result: RunResult, started_at_ms: int | None) -> Window:
    title = so_far.title
    return replace(
        so_far,
        title=replace(title, session_id=title.session_id or result.session_id),
        status=_ENDS.get(result.status, "error"),
        no_answer=result.no_answer,
        work=result.work,
        call_count=result.tool_call_count,
        started_at_ms=result.started_at_ms or started_at_ms,
        elapsed_ms=result.duration_ms,
        error_message=one_line(result.error_message, MAX_LINE),
        notes=tuple(one_line(note, MAX_LINE) for note in result.notes[:MAX_NOTES]),
        usage=result.usage,
    )


def _lines(text: str) -> list[str]:
    """Return the printable lines that are not blank; only LF ends a line."""
    lines = printable(text).expandtabs(TAB_WIDTH).split("\n")
    return [line.rstrip() for line in lines if line.strip()]
