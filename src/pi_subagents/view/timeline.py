"""
When a run did what: a bar for each run, its tool calls and waits as segments, grouped by call.

In: records, the entries of their journals, and the time of whoever looks.  Out: values that every
face draws in its own way, or JSON.  Total: whatever a journal says, segments lie within their bar,
and those on one lane follow each other (but on the last of twelve).  What a script calls is part of
the script's own call.  Of thousands of segments those that follow each other closely become one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.known_calls import KnownCalls
from pi_subagents.core.run.progress import failure_reason
from pi_subagents.core.value import as_dict, replace, value
from pi_subagents.view import messages
from pi_subagents.view.states import ShownState, state_of
from pi_subagents.view.toolcall import format_tool_call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.run.journal import JournalEntry
    from pi_subagents.core.run.record import RunRecord

SegmentKind = Literal["tool", "start", "question", "limit", "retry"]
MAX_DETAIL = 200
MAX_NAME = 60
MAX_LANES = 12
MAX_SEGMENTS = 4000  # then only so many lengths of time are told apart:
CONDENSED = 1000
MAX_OPEN_CALLS = 256


@value
class Segment:
    """A part of a bar: a tool call, or a wait and what for."""

    kind: SegmentKind
    begin_ms: int
    end_ms: int
    name: str = ""  # of the tool, the provider
    detail: str = ""
    failed: bool = False
    reason: str = ""  # why it failed
    lane: int = 0  # calls side by side are on different ones


@value
class Bar:
    """One run, from when it was planned until it ended, or until somebody looked."""

    run_id: str
    session_id: str
    call_id: str
    title: str
    state: ShownState
    begin_ms: int
    end_ms: int
    active: bool
    segments: tuple[Segment, ...] = ()

    @property
    def lanes(self) -> int:
        """How many segments are side by side, at least one."""
        return 1 + max((each.lane for each in self.segments), default=0)


@value
class Timeline:
    """The runs of one call, by when they began; one without a call is alone."""

    call_id: str
    begin_ms: int
    end_ms: int
    bars: tuple[Bar, ...]


def bar_of(run: RunRecord, entries: Iterable[JournalEntry], now_ms: int) -> Bar:
    """Return the bar of a run; of one that is lost, as long as its journal goes."""
    story = Story(run)
    for entry in entries:
        story.read(entry)
    return story.bar(run, now_ms)


def timelines(bars: Iterable[Bar]) -> list[Timeline]:
    """Return the bars by call, the call first whose first bar comes first."""
    calls: dict[str, list[Bar]] = {}
    for bar in bars:
        calls.setdefault(bar.call_id or bar.run_id, []).append(bar)
    return [_timeline(call) for call in calls.values()]


def _timeline(bars: list[Bar]) -> Timeline:
    in_order = tuple(sorted(bars, key=lambda bar: (bar.begin_ms, bar.run_id)))
    begin_ms, end_ms = in_order[0].begin_ms, max(bar.end_ms for bar in bars)
    return Timeline(bars[0].call_id, begin_ms, end_ms, in_order)


def timeline_to_json(timeline: Timeline) -> dict[str, object]:
    """Return the bars of a call for scripts and pages; times are milliseconds since 1970."""
    return {
        "callId": timeline.call_id or None,
        "begin": timeline.begin_ms,
        "end": timeline.end_ms,
        "bars": [bar_to_json(bar) for bar in timeline.bars],
    }


def bar_to_json(bar: Bar) -> dict[str, object]:
    """Return one bar in the same way."""
    return {
        "runId": bar.run_id,
        "sessionId": bar.session_id,
        "title": bar.title,
        "state": as_dict(bar.state),
        "begin": bar.begin_ms,
        "end": bar.end_ms,
        "active": bar.active,
        "segments": [_segment_to_json(each) for each in bar.segments],
    }


def _segment_to_json(segment: Segment) -> dict[str, object]:
    return {
        "kind": segment.kind,
        "begin": segment.begin_ms,
        "end": segment.end_ms,
        "name": segment.name or None,
        "detail": segment.detail or None,
        "failed": segment.failed,
        "reason": segment.reason or None,
        "lane": segment.lane,
    }


def condensed(segments: list[Segment], most: int = CONDENSED) -> list[Segment]:
    """Return segments of the same kind that follow each other closely as one, if there are many."""
    if len(segments) <= most:
        return segments
    begin_ms = min(each.begin_ms for each in segments)
    end_ms = max(each.end_ms for each in segments)
    step_ms = max((end_ms - begin_ms) // most, 1)
    found: list[Segment] = []
    last: dict[tuple[SegmentKind, bool], int] = {}
    for each in sorted(segments, key=lambda one: one.begin_ms):
        place = last.get((each.kind, each.failed), -1)
        if place >= 0 and each.begin_ms <= found[place].end_ms + step_ms:
            until_ms = max(found[place].end_ms, each.end_ms)
            detail = messages.SEVERAL_CALLS if each.kind == "tool" else each.detail
            found[place] = replace(found[place], end_ms=until_ms, detail=detail)
        else:
            last[each.kind, each.failed] = len(found)
            found.append(each)
    return found


class Story:
    """What the entries read so far have made of a bar; it can be asked for that at any time."""

    def __init__(self, run: RunRecord) -> None:
        self.begin_ms = run.meta.created_at_ms
        self.last_ms = self.begin_ms
        self._cwd = run.meta.cwd
        self._segments: list[Segment] = []
        self._known = KnownCalls()
        self._calls: dict[str, Segment] = {}
        self._questions: dict[str, Segment] = {}
        self._wait: Segment | None = None  # its end is when it ends by itself

    def bar(self, run: RunRecord, now_ms: int) -> Bar:
        """Return the bar of the run, as it stands by now."""
        begin_ms, result = self.begin_ms, run.result
        finished_ms = result.finished_at_ms if result else now_ms if run.active else 0
        end_ms = max(begin_ms, finished_ms or self.last_ms)
        found = self.ended(end_ms)
        began_ms = (result.started_at_ms if result else 0) or run.meta.started_at_ms
        if not began_ms and run.status == "planned":
            began_ms = end_ms
        if began_ms > begin_ms:
            found.append(Segment("start", begin_ms, began_ms))
        return Bar(
            run.run_id,
            run.session_id,
            run.meta.call_id,
            run.title,
            state_of(run),
            begin_ms,
            end_ms,
            run.active,
            _on_lanes(_within(each, begin_ms, end_ms) for each in found),
        )

    def read(self, entry: JournalEntry) -> None:
        """Take the next entry."""
        # A clock that is set back must not let anything end before it began.
        now = self.last_ms = max(self.last_ms, entry.time_ms)
        match self._known.completed(entry.event):
            case ev.ToolStarted(call) if not call.parent_id:
                self._go_on(now)
                self._end_call(call.call_id, now)
                if len(self._calls) >= MAX_OPEN_CALLS:
                    self._end_call(next(iter(self._calls)), now)
                detail = self._preview(call)
                self._calls[call.call_id] = Segment("tool", now, now, _name(call.name), detail)
            case ev.ToolFinished(parent_id="") as done:
                begun = Segment("tool", now - done.duration_ms, now, _name(done.name))
                self._calls.setdefault(done.call_id, begun)
                reason = failure_reason(done) if done.failed else ""
                self._end_call(done.call_id, now, failed=done.failed, reason=reason)
            case ev.AssistantMessage(duration_ms=took):
                self._go_on(now - took)
            case ev.UserMessage() | ev.StateChanged():
                self._go_on(now)
            case ev.Limited() as limit:
                self._go_on(now)
                until = limit.until_ms or round(now + limit.after_s * 1000) * bool(limit.after_s)
                detail = one_line(limit.text, MAX_DETAIL)
                self._wait = Segment("limit", now, until, _name(limit.provider), detail)
            case ev.Retrying() as retry if self._wait is None:
                detail = one_line(retry.error_message, MAX_DETAIL)
                self._wait = Segment("retry", now, now + retry.delay_ms, "", detail)
            case ev.Asked(number, text):
                self._questions[number] = Segment(
                    "question", now, now, detail=one_line(text, MAX_DETAIL)
                )
            case ev.Replied(question, status) if status != ev.REFUSED:
                if asked := self._questions.pop(question, None):
                    self._add(replace(asked, end_ms=now))

    def _preview(self, call: ev.ToolCall) -> str:
        lines = format_tool_call(call, cwd=self._cwd, home="", width=MAX_DETAIL)
        preview = " ".join("".join(span.text for span in line) for line in lines)
        return one_line(preview, MAX_DETAIL)

    def ended(self, end_ms: int) -> list[Segment]:
        """Return all segments; whatever is open ends with the bar."""
        open_waits = (
            [replace(self._wait, end_ms=min(self._wait.end_ms or end_ms, end_ms))]
            if self._wait
            else []
        )
        open_calls = (*self._calls.values(), *self._questions.values())
        return [
            *self._segments,
            *open_waits,
            *(replace(each, end_ms=end_ms) for each in open_calls),
        ]

    def _end_call(self, call_id: str, now: int, *, failed: bool = False, reason: str = "") -> None:
        if call := self._calls.pop(call_id, None):
            self._add(replace(call, end_ms=now, failed=failed, reason=reason))

    def _go_on(self, now: int) -> None:
        """End a wait: by itself, or because the child works again."""
        if wait := self._wait:
            self._add(replace(wait, end_ms=min(wait.end_ms or now, now)))
            self._wait = None

    def _add(self, segment: Segment) -> None:
        self._segments.append(segment)
        if len(self._segments) > MAX_SEGMENTS:
            self._segments = condensed(self._segments)


def _name(name: str) -> str:
    return one_line(name, MAX_NAME)


def _within(segment: Segment, begin_ms: int, end_ms: int) -> Segment:
    begin = min(max(segment.begin_ms, begin_ms), end_ms)
    return replace(segment, begin_ms=begin, end_ms=min(max(segment.end_ms, begin), end_ms))


def _on_lanes(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return the segments by when they began, each on the first lane that is free then."""
    ends: list[int] = []
    placed = []
    for each in sorted(segments, key=lambda one: (one.begin_ms, one.end_ms)):
        lane = next((i for i, end in enumerate(ends) if end <= each.begin_ms), len(ends))
        lane = min(lane, MAX_LANES - 1)
        ends[lane:] = [each.end_ms, *ends[lane + 1 :]]
        placed.append(replace(each, lane=lane))
    return tuple(placed)
