"""Calls are told to OpenTelemetry only where somebody has set that up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pi_subagents
from pi_subagents.service.telemetry import messages
from pi_subagents.service.telemetry.sending import EXPORTERS, Sending
from pi_subagents.service.telemetry.switch import sending_in

SOURCES = Path(pi_subagents.__file__).parents[1]
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
BOTH = Sending(("otlp",), ("otlp",))
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"


@pytest.mark.parametrize(
    ("variables", "sending"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "mine"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, None),
        (ENDPOINT, BOTH),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "no"}, BOTH),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none"}, Sending(("otlp",))),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}, None),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://x/v1/metrics"}, Sending((), ("otlp",))),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, Sending(("otlp",))),
        ({"OTEL_TRACES_EXPORTER": "console, otlp,console"}, Sending(("console", "otlp"))),
        ({**ENDPOINT, PROTOCOL: "http/protobuf"}, BOTH),
        ({**ENDPOINT, CONTENT: "true"}, Sending(("otlp",), ("otlp",), content=True)),
        ({**ENDPOINT, CONTENT: "SPAN_ONLY"}, Sending(("otlp",), ("otlp",), content=True)),
        ({**ENDPOINT, CONTENT: "no_content"}, BOTH),
    ],
)  # fmt: skip
def test_the_variables_say_what_goes_where(
    variables: dict[str, str], sending: Sending | None
) -> None:
    said: list[str] = []
    assert (sending_in(variables, said.append, own=False), said) == (sending, [])


def test_what_the_program_has_set_up_goes_before_the_variables() -> None:
    said: list[str] = []
    assert sending_in(ENDPOINT, said.append, own=True) == Sending(own=True)
    assert sending_in({"OTEL_SDK_DISABLED": "true"}, said.append, own=True) is None
    assert said == []


def test_an_exporter_that_there_is_not_is_named_and_the_rest_is_used() -> None:
    said: list[str] = []
    found = sending_in({**ENDPOINT, "OTEL_TRACES_EXPORTER": "zipkin"}, said.append, own=False)
    assert found == Sending((), ("otlp",))
    assert said == [messages.unknown_exporter("OTEL_TRACES_EXPORTER", "zipkin", EXPORTERS)]


def test_a_protocol_that_is_not_spoken_is_named_and_nothing_is_sent() -> None:
    said: list[str] = []
    assert sending_in({**ENDPOINT, PROTOCOL: "grpc"}, said.append, own=False) is None
    assert said == [messages.unknown_protocol(PROTOCOL, "grpc", "http/protobuf")]


WATCHED = """
import sys, json
from importlib.abc import MetaPathFinder
class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("opentelemetry") and sys.argv[1] == "not installed":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
import pi_subagents.service.foreground, pi_subagents.faces.cli.work.run
from pi_subagents.service.telemetry.switch import flush_telemetry, watch_call
watch = watch_call({"TRACEPARENT": "x"}, (), print)
flush_telemetry()
loaded = sorted(name for name in sys.modules if name.startswith("opentelemetry"))
print(json.dumps([watch is not None, loaded, "pi_subagents.service.telemetry.watch" in sys.modules]))
"""


@pytest.mark.parametrize(
    ("installed", "variables"),
    [
        ("installed", {}),
        ("installed", {"OTEL_SERVICE_NAME": "mine", "TRACEPARENT": "00-1-1-01"}),
        ("installed", {**ENDPOINT, "OTEL_SDK_DISABLED": "true"}),
        ("not installed", ENDPOINT),
    ],
)
def test_where_it_is_off_nothing_of_it_is_imported(
    installed: str, variables: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, installed],
        env={"PYTHONPATH": str(SOURCES), **variables}, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert (json.loads(done.stdout), done.stderr) == ([False, [], False], "")
