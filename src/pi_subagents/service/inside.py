"""
What a sub-agent may not do: act on runs.  It could end, steer or answer for its own siblings.

In: the environment of whoever asks.  Out: nothing, or ActsInsideSubagent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run.files import CHILD_VARIABLE
from pi_subagents.errors import ActsInsideSubagent

if TYPE_CHECKING:
    from collections.abc import Mapping


def refuse_inside_subagent(env: Mapping[str, str]) -> None:
    """Refuse to stop, steer, answer, resume or remove runs from inside a sub-agent."""
    if env.get(CHILD_VARIABLE) == "1":
        raise ActsInsideSubagent
