"""
A collector on loopback: it takes OTLP over HTTP and decodes it with the official messages.

In: nothing.  Out: the variables that lead there, and the spans, metrics and resources that came, as
plain values.  A `mute` one takes connections and never answers.
"""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ERROR = 2  # of the codes of a span's status


@dataclass
class Seen:
    """A span as it arrived."""

    name: str
    span_id: str
    parent: str
    trace: str
    attributes: dict[str, Any]
    failed: bool
    took_ns: int
    events: list[tuple[str, dict[str, Any]]]


@dataclass
class Receiver:
    """What came."""

    endpoint: str
    mute: bool = False
    spans: list[Seen] = field(default_factory=list)
    metrics: list[tuple[str, float, dict[str, Any]]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    leaving: threading.Event = field(default_factory=threading.Event)

    @property
    def env(self) -> dict[str, str]:
        """What a user sets."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint}

    def span(self, name: str) -> Seen:
        """Return the one span with a name."""
        (found,) = (each for each in self.spans if each.name == name)
        return found

    def take(self, path: str, body: bytes) -> bytes:
        """Decode what was sent; return the answer."""
        if path == "/v1/traces":
            self._take_spans(ExportTraceServiceRequest.FromString(body))
            return bytes(ExportTraceServiceResponse().SerializeToString())
        assert path == "/v1/metrics", path
        self._take_metrics(ExportMetricsServiceRequest.FromString(body))
        return bytes(ExportMetricsServiceResponse().SerializeToString())

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resources.append(_plain(resource.resource.attributes))
            for scope in resource.scope_spans:
                assert scope.scope.name == "pi_subagents"
                self.spans.extend(
                    Seen(
                        span.name,
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.trace_id.hex(),
                        _plain(span.attributes),
                        span.status.code == ERROR,
                        span.end_time_unix_nano - span.start_time_unix_nano,
                        [(event.name, _plain(event.attributes)) for event in span.events],
                    )
                    for span in scope.spans
                )

    def _take_metrics(self, request: ExportMetricsServiceRequest) -> None:
        self.metrics.clear()  # each account is of everything so far
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.sum.data_points:
                        value = point.as_double or point.as_int
                        self.metrics.append((metric.name, value, _plain(point.attributes)))
                    for histogram in metric.histogram.data_points:
                        told = _plain(histogram.attributes)
                        self.metrics.append((metric.name, histogram.sum, told))


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def open_receiver(*, mute: bool = False) -> Iterator[Receiver]:
    """Listen for as long as the `with` lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.headers.append(dict(self.headers))
            received.asked.set()
            if received.mute:
                received.leaving.wait()
                return
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            answer = received.take(self.path, body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host, port = server.server_address[:2]
        received = Receiver(f"http://{host!s}:{port}", mute=mute)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield received
        finally:
            received.leaving.set()
            server.shutdown()
