"""
Tell GitHub Copilot that an agent, not a person, began what a sub-agent asks.

In: the model a child will use.  Out: the extensions it needs for that: one, or none.
"""

from __future__ import annotations

from pathlib import Path

PROVIDER = "github-copilot"


def initiator_extensions(model: str | None) -> tuple[str, ...]:
    """Return what to give to `pi --extension` for a model written as `provider/id`."""
    if model is None or model.partition("/")[0] != PROVIDER:
        return ()
    return (str(Path(__file__).with_name("copilot_initiator.mjs")),)
