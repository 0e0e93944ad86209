"""
Read in pi's own records whether a project is trusted.

In: a directory, and what a caller or host decided of its own.  Out: the nearest decision, that one
or one saved in `trust.json`, else the global `defaultProjectTrust`.  Whatever cannot be read means:
not trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.pi.models.config import config_object
from pi_subagents.system.home import agent_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def is_trusted(cwd: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None = None) -> bool:
    """Return whether pi may load what the project itself configures."""
    home = agent_dir(env)
    decisions = config_object(home / "trust.json")
    try:
        place = cwd.resolve()
        if decided is not None:
            decisions[str(decided[0].resolve())] = decided[1]
    except (OSError, ValueError, RuntimeError):  # too long, not encodable, a circle of links
        return False
    for directory in (place, *place.parents):
        decision = decisions.get(str(directory))
        if isinstance(decision, bool):
            return decision
    return config_object(home / "settings.json").get("defaultProjectTrust") == "always"
