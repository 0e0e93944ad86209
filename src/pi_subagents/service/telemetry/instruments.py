"""
What spans and metrics are made with: the program's own providers, or ours by the OTEL_* variables.

In: where they go.  Out: a tracer, and the instruments of every metric.  The libraries read all else
(endpoint, headers, sampler, resource, intervals, certificates) from the variables themselves.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace

from pi_subagents._version import __version__
from pi_subagents.service.telemetry.sending import OTLP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter

    from pi_subagents.service.telemetry.sending import Sending

SCOPE = "pi_subagents"
SERVICE = "pi-subagents"
UNNAMED = "unknown_service"


class Instruments:
    """A tracer and every metric."""

    def __init__(
        self, tracing: trace.TracerProvider, metering: metrics.MeterProvider, *, content: bool
    ) -> None:
        self.providers: tuple[Any, ...] = (tracing, metering)
        self.content = content
        self.tracer = tracing.get_tracer(SCOPE, __version__)
        meter = metering.get_meter(SCOPE, __version__)
        self.runs = meter.create_counter(
            "pi_subagents.runs", "{run}", "Runs that ended, by how they ended"
        )
        self.duration = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", "How long runs took"
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens that a run used"
        )
        self.cost = meter.create_counter("pi_subagents.cost", "USD", "What runs cost")
        self.waits = meter.create_histogram(
            "pi_subagents.wait.duration", "s", "How long runs waited, by what for"
        )

    def flush(self) -> None:
        """Send what is left."""
        for provider in self.providers:
            with suppress(Exception):  # it has been logged; or it is one that keeps nothing
                provider.force_flush()


def open_instruments(sending: Sending) -> Instruments:
    """Return them; what the program has set up is used as it is."""
    if sending.own:
        tracing, metering = trace.get_tracer_provider(), metrics.get_meter_provider()
        return Instruments(tracing, metering, content=sending.content)
    resource = _resource()
    return Instruments(
        _tracing(sending, resource), _metering(sending, resource), content=sending.content
    )


def _resource() -> Resource:
    """Return what we are; the user's own names win."""
    from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource

    found = Resource.create()
    if str(found.attributes.get(SERVICE_NAME, UNNAMED)).startswith(UNNAMED):
        return found.merge(Resource({SERVICE_NAME: SERVICE, SERVICE_VERSION: __version__}))
    return found


def _tracing(sending: Sending, resource: Resource) -> trace.TracerProvider:
    if not sending.traces:
        return trace.NoOpTracerProvider()
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # At the exit we flush ourselves, for as long as we want and not longer.
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in _span_exporters(sending.traces):
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _span_exporters(names: tuple[str, ...]) -> Iterator[SpanExporter]:
    for name in names:
        if name == OTLP:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            yield OTLPSpanExporter()
        else:
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter

            yield ConsoleSpanExporter(out=sys.stderr)  # our output is for answers


def _metering(sending: Sending, resource: Resource) -> metrics.MeterProvider:
    if not sending.metrics:
        return metrics.NoOpMeterProvider()
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    readers = [PeriodicExportingMetricReader(each) for each in _metric_exporters(sending.metrics)]
    return MeterProvider(readers, resource=resource, shutdown_on_exit=False)


def _metric_exporters(names: tuple[str, ...]) -> Iterator[MetricExporter]:
    for name in names:
        if name == OTLP:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            yield OTLPMetricExporter()
        else:
            from opentelemetry.sdk.metrics.export import ConsoleMetricExporter

            yield ConsoleMetricExporter(out=sys.stderr)
