"""Where spans and metrics of calls go, as a value."""

from __future__ import annotations

from pi_subagents.core.value import value

OTLP, CONSOLE, NONE = EXPORTERS = ("otlp", "console", "none")
PROTOCOL = "http/protobuf"


@value
class Sending:
    """Where spans and metrics go, by the names of exporters; where content may go too."""

    traces: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    own: bool = False  # the program has set OpenTelemetry up itself: they go where that says
    content: bool = False  # prompts, answers, arguments
