"""
Which trace a call goes on with: that of the program around it, else that of its environment.

In: the context of the caller, and the variables it was started with.  Out: a context, in which the
span of the call is begun; an empty one begins a trace of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import propagate, trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context


def parent_of(current: Context | None, carrier: Mapping[str, str]) -> Context | None:
    """Return the context in which the call's span begins."""
    if current and trace.get_current_span(current).get_span_context().is_valid:
        return current
    return propagate.extract(carrier, current)
