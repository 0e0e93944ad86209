"""What is told of calls is sent beside them: no collector, however bad, holds anybody up."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.fakes.otlp_receiver import open_receiver
from tests.unit.service.fake_runner import planned, result

from pi_subagents.core.run import events as ev
from pi_subagents.service.delegation import Update
from pi_subagents.service.telemetry import sender
from pi_subagents.service.telemetry.sending import Sending
from pi_subagents.service.telemetry.switch import flush_telemetry, watch_call

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_S = 300.0
RUN = "invoke_agent pi"
# A program that makes one call, and leaves as the command does or as Python does.
PROGRAM = """
import asyncio, os, sys
from tests.unit.service.fake_runner import planned, result
from pi_subagents.service.delegation import Update
from pi_subagents.service.telemetry.switch import flush_telemetry, watch_call

def call():
    run = planned(0)
    watch = watch_call(os.environ, [run], print)
    watch.observe(Update(run, result(run.spec)))
    asyncio.run(watch.end())

call()
print("answered", flush=True)
if sys.argv[1] == "forked":
    if child := os.fork():
        os.waitpid(child, 0)
    else:
        call()
        flush_telemetry()
    os._exit(0)
if sys.argv[1] == "at once":
    flush_telemetry()
    os._exit(0)
"""
# One that has set OpenTelemetry up itself, and shuts it down right after the call.
OWN = """
import asyncio, os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.unit.service.fake_runner import planned, result
from pi_subagents.service.delegation import Update
from pi_subagents.service.telemetry.switch import watch_call

kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)

async def call():
    run = planned(0)
    with trace.get_tracer("mine").start_as_current_span("my work"):
        watch = watch_call({"TRACEPARENT": f"00-{1:032x}-{1:016x}-01"}, [run], print)
        watch.observe(Update(run, result(run.spec)))
        await watch.end()

asyncio.run(call())
provider.shutdown()
names = {span.context.span_id: span.name for span in kept.get_finished_spans()}
print(*(f"{span.name} < {names.get(span.parent.span_id) if span.parent else None}"
        for span in kept.get_finished_spans()), sep="\\n")
"""


# The same, in a process that was started by `opentelemetry-instrument` or its like.
INSTRUMENTED = f"""
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
{PROGRAM}"""


def left(program: str, *arguments: str, **env: str) -> tuple[int, str, str]:
    """Run a program to its end."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={"PYTHONPATH": f"{ROOT}/src:{ROOT}", "PYTHONWARNINGS": "ignore", **env},
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("program", "how", "counted"),
    [(PROGRAM, "at once", [1]), (PROGRAM, "tidily", [1]), (INSTRUMENTED, "at once", [])],
)
def test_what_a_program_told_has_arrived_when_it_is_gone(
    program: str, how: str, counted: list[int]
) -> None:
    with open_receiver() as receiver:
        assert left(program, how, **receiver.env) == (0, "answered\n", "")
        assert sorted(span.name for span in receiver.spans) == [RUN, "invoke_workflow pi_subagents"]
        runs = [value for name, value, _ in receiver.metrics if name == "pi_subagents.runs"]
        assert runs == counted


def test_a_process_that_was_forked_after_a_call_tells_of_its_own() -> None:
    with open_receiver() as receiver:
        assert left(PROGRAM, "forked", **receiver.env) == (0, "answered\n", "")
        assert [span.name for span in receiver.spans] == [RUN, "invoke_workflow pi_subagents"]


@pytest.mark.slow
def test_a_collector_that_never_answers_lets_the_program_leave_and_says_nothing() -> None:
    with open_receiver(mute=True) as receiver:
        assert left(PROGRAM, "at once", **receiver.env) == (0, "answered\n", "")
        assert receiver.asked.is_set()


def test_spans_of_a_program_with_its_own_provider_go_there_below_its_own_span() -> None:
    call = "invoke_workflow pi_subagents"
    expected = f"{RUN} < {call}\n{call} < my work\nmy work < None\n"
    assert left(OWN) == (0, expected, "")


def test_spans_for_a_console_leave_standard_output_to_answers() -> None:
    code, out, err = left(PROGRAM, "tidily", OTEL_TRACES_EXPORTER="console")
    assert (code, out) == (0, "answered\n")
    assert f'"name": "{RUN}"' in err


@pytest.fixture
def own_senders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a sender, and leave none that other tests would meet."""
    monkeypatch.setattr(sender, "SENDERS", {})


@pytest.mark.usefixtures("own_senders")
async def test_a_collector_that_is_not_there_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The flush would last for hours if it went by the time alone."""
    monkeypatch.setattr(sender, "FLUSH_S", 10_000.0)
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1/traces"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", endpoint)
        run = planned(0)
        watch = watch_call({}, [run], print)
        assert watch is not None
        watch.observe(Update(run, result(run.spec)))
        await watch.end()
        flush_telemetry()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("own_senders")
def test_a_fault_in_telling_harms_neither_the_call_nor_what_is_told_later() -> None:
    told: list[str] = []
    made = sender.sender_for(Sending(("otlp",)))

    def fail() -> None:
        raise ZeroDivisionError

    made.put(fail)
    made.put(lambda: told.append("later"))
    made.drain()
    assert told == ["later"]
    assert sender.sender_for(Sending(("otlp",))) is made


@pytest.mark.usefixtures("own_senders")
def test_a_collector_that_failed_a_moment_ago_is_not_waited_for_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, goes_on = sender.sender_for(Sending(("otlp",))), threading.Event()
    monkeypatch.setattr(sender, "FLUSH_S", 10_000.0)
    made.put(goes_on.wait)
    logging.getLogger("opentelemetry.exporter").warning("retrying")
    made.flush()
    goes_on.set()
    made.drain()


@pytest.mark.usefixtures("own_senders")
def test_tool_calls_are_left_out_while_too_much_waits_but_no_result_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "MAX_QUEUED", 0)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    run = planned(0)
    watch = watch_call({}, [run], print)
    assert watch is not None
    put: list[object] = []
    monkeypatch.setattr(sender.Sender, "put", lambda _, work: put.append(work))
    watch.observe(Update(run, ev.ToolStarted(ev.ToolCall("c", "read", None))))
    assert put == []
    watch.observe(Update(run, result(run.spec)))
    assert len(put) == 1
