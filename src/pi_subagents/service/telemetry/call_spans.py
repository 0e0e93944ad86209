"""
A call as a trace: one span for it, below that one per run, below that one per tool call.

In: the updates of a call, each with the time at which it was observed.  Out: spans that begin and
end at these times, and the metrics of runs, waits and tokens.  What a call leaves open at its end
(it was cancelled) is ended there, as an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.service.telemetry import attributes as named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.context import Context

    from pi_subagents.service.delegation import PlannedTask, Update
    from pi_subagents.service.telemetry.instruments import Instruments

NANO = 1_000_000_000
MILLI = 1_000_000
START, LIMIT, RETRY, QUESTION = WAITS = ("start", "limit", "retry", "question")


class CallSpans:
    """One call."""

    def __init__(
        self, tools: Instruments, parent: Context | None, planned: Sequence[PlannedTask], at: int
    ) -> None:
        self._tools = tools
        self._began = at
        self._span = tools.tracer.start_span(
            f"{named.CALL} {named.WORKFLOW}",
            parent,
            SpanKind.INTERNAL,
            named.of_call(len(planned)),
            start_time=at,
        )
        self._inside = set_span_in_context(self._span, parent)
        self._runs: dict[int, _RunSpans] = {}
        self._failed = False

    def tell(self, update: Update, at: int) -> None:
        """Take what happened in one run."""
        run = self._runs.get(update.run.index)
        if run is None:
            run = _RunSpans(self._tools, self._inside, update.run, at, self._began)
            self._runs[update.run.index] = run
        if isinstance(update.what, RunResult):
            run.end(update.what, at)
            self._failed = self._failed or not update.what.completed
        else:
            run.tell(update.what, at)

    def end(self, at: int) -> None:
        """End the call, and what it left open."""
        for run in self._runs.values():
            self._failed = run.cut_off(at) or self._failed
        if self._failed:
            self._span.set_status(StatusCode.ERROR)
        self._span.end(at)


class _RunSpans:
    """One run with its tool calls, and what it waits for."""

    def __init__(
        self, tools: Instruments, inside: Context, run: PlannedTask, at: int, planned_at: int
    ) -> None:
        self._tools, self._run = tools, run
        attributes = named.of_run(run)
        if tools.content:
            attributes |= named.prompt_content(run)
        name = f"{named.RUN} {named.agent_of(run)}"
        self._span = tools.tracer.start_span(
            name, inside, SpanKind.INTERNAL, attributes, start_time=at
        )
        self._inside = set_span_in_context(self._span, inside)
        self._began, self._ended = at, False
        self._calls: dict[str, Span] = {}
        self._waits: dict[str, int] = {START: planned_at}  # since when, by what for

    def tell(self, event: ev.Event, at: int) -> None:
        match event:
            case ev.StateChanged("running"):
                self._waited(START, at)
                self._waited(LIMIT, at)
            case ev.AssistantMessage():
                self._waited(LIMIT, at)
                self._waited(RETRY, at)
            case ev.ToolStarted(call):
                self._begin_call(call, at)
            case ev.ToolFinished():
                self._end_call(event, at)
            case ev.Limited():
                self._waits.setdefault(LIMIT, at)
            case ev.Retrying():
                self._waits.setdefault(RETRY, at)
            case ev.Asked():
                self._waits.setdefault(QUESTION, at)
            case ev.Replied(status=ev.GIVEN | ev.UNANSWERED):
                self._waited(QUESTION, at)

    def end(self, result: RunResult, at: int) -> None:
        for reason in WAITS:
            self._waited(reason, at)
        self._leave_calls(at)
        self._span.set_attributes(named.of_result(self._run, result))
        if self._tools.content:
            self._span.set_attributes(named.answer_content(result))
        if not result.completed:
            self._span.set_status(StatusCode.ERROR)
        self._ended = True
        self._span.end(at)
        self._measure(result, at)

    def cut_off(self, at: int) -> bool:
        """End what has no result; return whether that was so."""
        if self._ended:
            return False
        self._leave_calls(at)
        _fail(self._span, named.CANCELLED, at)
        self._ended = True
        return True

    def _begin_call(self, call: ev.ToolCall, at: int) -> None:
        attributes = named.of_tool(call.call_id, call.name)
        if self._tools.content:
            attributes |= named.arguments_content(call)
        above = self._calls.get(call.parent_id)
        inside = set_span_in_context(above, self._inside) if above else self._inside
        self._calls[call.call_id] = self._tools.tracer.start_span(
            f"{named.TOOL} {call.name}", inside, SpanKind.INTERNAL, attributes, start_time=at
        )

    def _end_call(self, event: ev.ToolFinished, at: int) -> None:
        if event.call_id not in self._calls:  # a child that only says what it has done
            call = ev.ToolCall(event.call_id, event.name, None, event.parent_id)
            self._begin_call(call, at - event.duration_ms * MILLI)
        span = self._calls.pop(event.call_id)
        if self._tools.content:
            span.set_attributes(named.result_content(event))
        if event.failed:
            _fail(span, named.TOOL_ERROR, at)
        else:
            span.end(at)

    def _leave_calls(self, at: int) -> None:
        for span in reversed(self._calls.values()):
            _fail(span, named.CANCELLED, at)
        self._calls.clear()

    def _waited(self, reason: str, at: int) -> None:
        since = self._waits.pop(reason, None)
        if since is None:
            return
        seconds = max(at - since, 0) / NANO
        self._tools.waits.record(seconds, {named.REASON: reason})
        self._span.add_event(
            "pi_subagents.wait", {named.REASON: reason, named.WAITED: seconds}, timestamp=at
        )

    def _measure(self, result: RunResult, at: int) -> None:
        shared = named.for_metrics(self._run, result)
        self._tools.runs.add(1, shared)
        self._tools.duration.record((at - self._began) / NANO, shared)
        if result.usage.total_tokens:
            tokens = {"input": named.input_tokens(result), "output": result.usage.output}
            for kind, count in tokens.items():
                self._tools.tokens.record(count, {**shared, "gen_ai.token.type": kind})
        if result.usage.cost:
            self._tools.cost.add(result.usage.cost, shared)


def _fail(span: Span, why: str, at: int) -> None:
    span.set_attribute(named.ERROR, why)
    span.set_status(StatusCode.ERROR)
    span.end(at)
