"""A call is a trace, as a collector receives it: spans, attributes and metrics, whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.otlp_receiver import Receiver, open_receiver
from tests.unit.service.fake_runner import planned, result

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.service.delegation import PlannedTask, Preparation, Update
from pi_subagents.service.telemetry import attributes as named
from pi_subagents.service.telemetry.call_spans import NANO, CallSpans
from pi_subagents.service.telemetry.context import parent_of
from pi_subagents.service.telemetry.instruments import open_instruments
from pi_subagents.service.telemetry.sending import Sending

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.core.run.result import RunResult

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CARRIER = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
CANARY = "canary-7f3a"
READ = ev.ToolCall("c1", "read", {"path": CANARY})
SCRIPT = ev.ToolCall("c2", "bash", None, parent_id="c1")
USED = Usage(100, 20, 30, 4, 154, 0.25, cost_is_billed=True)
CALL_NAME = "invoke_workflow pi_subagents"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with open_receiver() as made:
        for name, said in made.env.items():
            monkeypatch.setenv(name, said)
        yield made


def reviewer(index: int = 0) -> PlannedTask:
    run = planned(index, CANARY)
    child = replace(run.spec.child, provider="google")
    profile = Profile("reviewer", provider="google", model="flash")
    return replace(run, spec=replace(run.spec, child=child), needs=Preparation(profile))


def answered(run: PlannedTask) -> RunResult:
    return replace(
        result(run.spec), output=CANARY, stop_reason="stop", provider="google",
        model="flash-001", usage=USED,
    )  # fmt: skip


def sent(
    runs: Sequence[PlannedTask],
    told: Sequence[tuple[int, ev.Event | RunResult]],
    *,
    content: bool = False,
) -> None:
    """Tell of a call, a second after another, and send it."""
    instruments = open_instruments(Sending(("otlp",), ("otlp",), content=content))
    try:
        call = CallSpans(instruments, parent_of(None, CARRIER), runs, 0)
        for second, (index, what) in enumerate(told, 1):
            call.tell(Update(runs[index], what), second * NANO)
        call.end((len(told) + 1) * NANO)
        instruments.flush()
    finally:
        for provider in instruments.providers:
            provider.shutdown()


def test_a_call_is_a_trace_of_its_caller_with_a_span_for_each_run_and_tool_call(
    receiver: Receiver,
) -> None:
    run = reviewer()
    sent(
        [run],
        [
            (0, ev.StateChanged("starting")),
            (0, ev.StateChanged("running")),
            (0, ev.ToolStarted(READ)),
            (0, ev.ToolStarted(SCRIPT)),
            (0, ev.ToolFinished("c2", "bash", CANARY, failed=True, parent_id="c1")),
            (0, ev.ToolFinished("c1", "read", CANARY, failed=False)),
            (0, answered(run)),
        ],
    )
    call, agent = receiver.span(CALL_NAME), receiver.span("invoke_agent reviewer")
    read, bash = receiver.span("execute_tool read"), receiver.span("execute_tool bash")
    assert len(receiver.spans) == 4
    assert {span.trace for span in receiver.spans} == {TRACE}
    assert [span.parent for span in (call, agent, read, bash)] == [
        CALLER, call.span_id, agent.span_id, read.span_id,
    ]  # fmt: skip
    assert [span.took_ns // NANO for span in (call, agent, read, bash)] == [8, 6, 3, 1]
    assert [span.failed for span in (call, agent, read, bash)] == [False, False, False, True]
    assert call.attributes == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "pi_subagents",
        "pi_subagents.tasks": 1,
    }
    assert agent.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "reviewer",
        "gen_ai.conversation.id": "session-0",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "flash",
        "gen_ai.response.model": "flash-001",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 134,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 4,
        "pi_subagents.cost": 0.25,
        "pi_subagents.cost.billed": True,
        "pi_subagents.engine": "pi",
        "pi_subagents.run.id": "run-0",
        "pi_subagents.run.status": "completed",
        "pi_subagents.task.name": "t0",
    }
    waited = {"pi_subagents.wait.reason": "start", "pi_subagents.wait.duration": 2.0}
    assert agent.events == [("pi_subagents.wait", waited)]
    assert bash.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c2",
        "gen_ai.tool.type": "function",
        "error.type": "tool_error",
    }
    assert CANARY not in repr(receiver)


def test_metrics_tell_of_runs_tokens_cost_and_waits(receiver: Receiver) -> None:
    run = reviewer()
    sent(
        [run],
        [
            (0, ev.StateChanged("running")),
            (0, ev.Limited("google")),
            (0, ev.Limited("google")),
            (0, ev.AssistantMessage("")),
            (0, ev.Asked("1", CANARY)),
            (0, ev.Replied("1", ev.REFUSED)),
            (0, ev.Replied("1", ev.GIVEN)),
            (0, ev.Retrying(1, 3, 1000, CANARY)),
            (0, answered(run)),
        ],
    )
    told = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "reviewer",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "flash",
        "gen_ai.response.model": "flash-001",
        "pi_subagents.run.status": "completed",
    }
    assert sorted(receiver.metrics, key=repr) == sorted(
        [
            ("pi_subagents.runs", 1, told),
            ("gen_ai.client.operation.duration", 8.0, told),
            ("gen_ai.client.token.usage", 134, {**told, "gen_ai.token.type": "input"}),
            ("gen_ai.client.token.usage", 20, {**told, "gen_ai.token.type": "output"}),
            ("pi_subagents.cost", 0.25, told),
            ("pi_subagents.wait.duration", 1.0, {named.REASON: "start"}),
            ("pi_subagents.wait.duration", 2.0, {named.REASON: "limit"}),
            ("pi_subagents.wait.duration", 2.0, {named.REASON: "question"}),
            ("pi_subagents.wait.duration", 1.0, {named.REASON: "retry"}),
        ],
        key=repr,
    )
    assert CANARY not in repr(receiver)


def test_content_goes_along_only_where_it_is_switched_on(receiver: Receiver) -> None:
    run = reviewer()
    tool = (ev.ToolStarted(READ), ev.ToolFinished("c1", "read", CANARY, failed=False))
    sent([run], [(0, tool[0]), (0, tool[1]), (0, answered(run))], content=True)

    def said(name: str) -> dict[str, Any]:
        return {
            key: text for key, text in receiver.span(name).attributes.items() if CANARY in str(text)
        }

    parts = [{"type": "text", "content": CANARY}]
    agent = {key: json.loads(text) for key, text in said("invoke_agent reviewer").items()}
    assert agent == {
        "gen_ai.input.messages": [{"role": "user", "parts": parts}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": parts, "finish_reason": "stop"}],
    }
    assert said("execute_tool read") == {
        "gen_ai.tool.call.arguments": json.dumps({"path": CANARY}),
        "gen_ai.tool.call.result": CANARY,
    }


def test_a_run_that_failed_makes_its_span_and_its_call_an_error_without_what_was_said(
    receiver: Receiver,
) -> None:
    runs = [planned(0), planned(1)]
    sent(runs, [(1, result(runs[1].spec, "failed", CANARY)), (0, result(runs[0].spec))])
    failed = {
        span.attributes.get("pi_subagents.task.name"): (
            span.failed,
            span.attributes.get("error.type"),
        )
        for span in receiver.spans
    }
    assert failed == {None: (True, None), "t0": (False, None), "t1": (True, "failed")}
    assert CANARY not in repr(receiver)


def test_what_a_cancelled_call_leaves_open_is_ended_as_cancelled(receiver: Receiver) -> None:
    sent([planned(0)], [(0, ev.ToolStarted(READ))])
    ended = {span.name: (span.failed, span.attributes.get("error.type")) for span in receiver.spans}
    assert ended == {
        CALL_NAME: (True, None),
        "invoke_agent pi": (True, "cancelled"),
        "execute_tool read": (True, "cancelled"),
    }


def test_a_tool_call_of_which_only_the_end_is_told_lasted_as_long_as_that_says(
    receiver: Receiver,
) -> None:
    run = planned(0)
    ended = ev.ToolFinished("c1", "read", "", failed=False, duration_ms=250)
    sent([run], [(0, ev.StateChanged("running")), (0, ended), (0, result(run.spec))])
    assert receiver.span("execute_tool read").took_ns == 250_000_000


@pytest.mark.parametrize(
    ("variables", "service"),
    [
        ({}, "pi-subagents"),
        ({"OTEL_SERVICE_NAME": "mine"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=ours,team=a"}, "ours"),
    ],
)
def test_the_users_own_variables_name_the_service_and_go_along(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], service: str
) -> None:
    for name, value in {**variables, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    sent([planned(0)], [])
    assert {resource["service.name"] for resource in receiver.resources} == {service}
    assert {headers["x-key"] for headers in receiver.headers} == {"abc"}
