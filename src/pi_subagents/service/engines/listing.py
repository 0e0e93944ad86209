"""The engines there are, for people and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.table import engine_names
from pi_subagents.service.call import settings_of

if TYPE_CHECKING:
    from pi_subagents.service.call import Options


def known_engines(options: Options) -> tuple[str, ...]:
    """Return the names that a task can have."""
    return engine_names(settings_of(options).engines)
