"""
Ask pi's own records whether a project is trusted.

In: a directory, and what a caller or host decided of its own.  Out: the nearest decision, that one
or one saved in `trust.json`, else the global `defaultProjectTrust`.  Whatever cannot be read means:
not trusted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.system.home import agent_dir
from pi_subagents.system.safe_io import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_TRUST_BYTES = 4 * 1024 * 1024


def is_trusted(cwd: Path, env: Mapping[str, str], decided: tuple[Path, bool] | None = None) -> bool:
    """Return whether pi may load what the project itself configures."""
    home = agent_dir(env)
    decisions = _object(home / "trust.json")
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
    return _object(home / "settings.json").get("defaultProjectTrust") == "always"


def _object(path: Path) -> dict[str, object]:
    try:
        value = read_json(path.resolve(), MAX_TRUST_BYTES)
    except (OSError, ValueError, RuntimeError):
        return {}
    return value if isinstance(value, dict) else {}
