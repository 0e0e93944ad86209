"""
Take in what a child prints: raw logs, events, journal entries, and what the outcome needs.

In: bytes from the child's pipes.  Out: the journal, the fold, and a callback for activity and
loops. Every byte sequence is taken; memory is bounded by one line.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pi_subagents.core.framing import MAX_LINE_BYTES, Frame, Line, LineFramer, LineSieve
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.announced import AnnouncedCalls
from pi_subagents.core.run.outcome import RunFold
from pi_subagents.supervisor import messages
from pi_subagents.system import crash_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.store.run_log import RunLog

ERROR_TAIL = 2000
MAX_ERROR_LINE = 64 * 1024


class Intake:
    """The two streams of one child."""

    def __init__(
        self,
        log: RunLog,
        conversation: Conversation,
        on_seen: Callable[[ev.Event | None], None],
        on_record: Callable[[ev.Event, int], None] = lambda _event, _time_ms: None,
        *,
        wants_value: bool = False,
    ) -> None:
        self.fold = RunFold()
        self.error_tail = ""
        self.notes: list[str] = []
        self._log = log
        self._conversation = conversation
        self._on_seen = on_seen
        self._on_record = on_record
        self._wants_value = wants_value
        self._announced = AnnouncedCalls()
        self._unrepeated = LineSieve(conversation.repeated)
        self._stdout = LineFramer()
        self._stderr = LineFramer(MAX_ERROR_LINE)

    def output(self, data: bytes) -> None:
        """Take bytes of standard output."""
        self._log.output(self._unrepeated.feed(data))
        for frame in self._stdout.feed(data):
            self._on_frame(frame)
        if not data.endswith(b"\n"):
            crash_points.reach(crash_points.MID_LINE)

    def error_output(self, data: bytes) -> None:
        """Take bytes of standard error."""
        self._log.error_output(data)
        for frame in self._stderr.feed(data):
            self._on_error_frame(frame)

    def hear_another(self, conversation: Conversation) -> None:
        """Take in what another child of the run prints from now on, from the start of a line."""
        self._conversation = conversation
        self._announced.clear()
        self._unrepeated = LineSieve(conversation.repeated)
        self._stdout, self._stderr = LineFramer(), LineFramer(MAX_ERROR_LINE)

    @property
    def flawless(self) -> bool:
        """Return whether the child has answered, and nothing in its output was odd."""
        is_odd = self.notes or self._conversation.interfered
        return self.fold.answered() and not is_odd and self._stdout.empty

    def end(self) -> None:
        """Take what the streams left unterminated."""
        self._log.output(self._unrepeated.end())
        for frame in self._stdout.end():
            self._on_frame(frame)
        for event in self._conversation.unfinished():
            self._on_event(event)
        for frame in self._stderr.end():
            self._on_error_frame(frame)

    def decided(self, event: ev.ValueGiven | ev.ValueRefused) -> None:
        """Take in what was decided about the answer, as if the child had said so."""
        self.fold.apply(event)
        self.record(event)

    def record(self, *events: ev.Event) -> None:
        """Journal events, with the time of day."""
        for event in events:
            time_ms = now_ms()
            self._on_record(event, time_ms)
            self._log.record(event, time_ms)

    def _on_error_frame(self, frame: Frame) -> None:
        if isinstance(frame, Line) and frame.data:
            text = frame.data.decode("utf-8", "replace")
            self.error_tail = f"{self.error_tail}\n{text}"[-ERROR_TAIL:]
            self.record(ev.ErrorText(text))

    def _on_frame(self, frame: Frame) -> None:
        if not isinstance(frame, Line):
            note = messages.note_line_skipped(frame.size, MAX_LINE_BYTES)
            self.notes.append(note)
            self.record(ev.Note(note))
        elif frame.data:
            events = self._conversation.hears(frame.data, time.monotonic())
            if not events:
                self._on_seen(None)
            for event in events:
                self._on_event(event)
            self.record(*self._conversation.take_news())

    def _on_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.OutputText):
            self.record(event)
            return
        if isinstance(event, ev.ValueGiven) and (not self._wants_value or self.fold.given):
            return  # nobody asked for one, or there is one already
        if not isinstance(event, ev.Activity):  # most of a stream is, and changes nothing
            self.fold.apply(event)
        seen, kept = self._counted(event)
        self._on_seen(seen)
        crash_points.reach(crash_points.FIRST_EVENT)
        if kept is None:
            return
        self.record(kept)
        if isinstance(kept, ev.ToolStarted):
            crash_points.reach(crash_points.TOOL_CALL)
        elif isinstance(kept, ev.Settled):
            crash_points.reach(crash_points.SETTLED)

    def _counted(self, event: ev.Event) -> tuple[ev.Event | None, ev.Event | None]:
        """Return what the limits see of an event, each call once, and what is kept of it."""
        match event:
            case ev.Activity():
                return None, None
            case ev.AssistantMessage():
                self._announced.answered(event)
            # A script may well make the same call many times in a row: its calls do not count.
            case ev.ToolStarted(call) if call.parent_id:
                return None, event
            case ev.ToolStarted(call) if self._announced.begins(call):
                # Counted as it was announced, and its arguments are in the journal already.
                return None, ev.ToolStarted(ev.ToolCall(call.call_id, call.name, None))
        return event, event


def now_ms() -> int:
    """Return the time of day in milliseconds: for people and records, never for deadlines."""
    return time.time_ns() // 1_000_000
