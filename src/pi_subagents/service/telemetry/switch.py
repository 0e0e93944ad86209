"""
Whether calls are told to OpenTelemetry, and what takes their updates there.

In: the variables that every program with OpenTelemetry goes by, and what a Python program has set
up itself.  Out: a CallWatch, or None.  Of OpenTelemetry nothing is imported here that is not yet.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pi_subagents.service.telemetry import messages
from pi_subagents.service.telemetry.sending import EXPORTERS, NONE, OTLP, PROTOCOL, Sending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pi_subagents.service.delegation import PlannedTask
    from pi_subagents.service.telemetry.watch import CallWatch

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("TRACES", "METRICS")
_LIBRARIES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def watch_call(
    env: Mapping[str, str], planned: Sequence[PlannedTask], notice: Callable[[str], None]
) -> CallWatch | None:
    """Return what takes the updates of a call that begins now, where anything does."""
    sending = sending_in(os.environ, notice, own=_program_has_its_own())
    if sending is None:
        return None
    from pi_subagents.service.telemetry.watch import CallWatch

    return CallWatch(sending, env, planned)


def flush_telemetry() -> None:
    """Send what is not sent yet, for a moment at most; for a process that is about to leave."""
    sender = sys.modules.get("pi_subagents.service.telemetry.sender")
    if sender is not None:
        sender.flush()


def sending_in(
    variables: Mapping[str, str], notice: Callable[[str], None], *, own: bool
) -> Sending | None:
    """Return where what is told goes by these variables; None where it goes nowhere."""
    content = _said(variables, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") in (
        "true",
        "span_only",
        "span_and_event",
    )
    if _said(variables, "OTEL_SDK_DISABLED") == "true":
        return None
    if own:
        return Sending(own=True, content=content)
    wanted = {signal: _exporters(variables, signal) for signal in SIGNALS}
    if not any(wanted.values()) or not _installed():
        return None
    problems: dict[str, None] = {}  # each is said once, be it of both signals
    used = {
        signal: tuple(name for name in names if _is_known(variables, signal, name, problems))
        for signal, names in wanted.items()
    }
    for problem in problems:
        notice(problem)
    if not any(used.values()):
        return None
    return Sending(used["TRACES"], used["METRICS"], content=content)


def _exporters(variables: Mapping[str, str], signal: str) -> tuple[str, ...]:
    """Return the exporters of a signal; OTLP by default, but only to where it is told to."""
    said = _said(variables, f"OTEL_{signal}_EXPORTER")
    if said:
        names = dict.fromkeys(name.strip() for name in said.split(","))
        return tuple(name for name in names if name not in ("", NONE))
    endpoints = (ENDPOINT, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return (OTLP,) if any(_said(variables, name) for name in endpoints) else ()


def _is_known(
    variables: Mapping[str, str], signal: str, name: str, problems: dict[str, None]
) -> bool:
    if name not in EXPORTERS:
        problem = messages.unknown_exporter(f"OTEL_{signal}_EXPORTER", name, EXPORTERS)
        problems[problem] = None
        return False
    if name == OTLP:
        for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
            if said := _said(variables, variable):
                if said != PROTOCOL:
                    problems[messages.unknown_protocol(variable, said, PROTOCOL)] = None
                return said == PROTOCOL
    return True


def _said(variables: Mapping[str, str], name: str) -> str:
    return variables.get(name, "").strip().lower()


def _installed() -> bool:
    from importlib.util import find_spec

    try:
        return all(find_spec(name) is not None for name in _LIBRARIES)
    except ModuleNotFoundError:  # of a package around it
        return False


def _program_has_its_own() -> bool:
    """Return whether this program has chosen where its spans go, before it called us."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return False
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    return isinstance(trace.get_tracer_provider(), TracerProvider)
