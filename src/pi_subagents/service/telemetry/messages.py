"""What `service/telemetry` says to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def unknown_exporter(variable: str, name: str, known: Sequence[str]) -> str:
    """Return what is said of an exporter that there is not."""
    return (
        f"{variable} names {name!r}, which is none of {', '.join(known)}: nothing goes there. "
        "To silence this, take it out or set OTEL_SDK_DISABLED=true."
    )


def unknown_protocol(variable: str, said: str, spoken: str) -> str:
    """Return what is said of a protocol that we do not speak."""
    return (
        f"{variable} is {said!r}, and subagents speaks {spoken} only: nothing is sent. "
        f"Set {variable}={spoken} and the endpoint for it (port 4318), or OTEL_SDK_DISABLED=true."
    )
