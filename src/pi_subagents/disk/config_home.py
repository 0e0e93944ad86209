"""
Where things live: agent directory, data directory, project root.

In: an environment mapping and a directory.  Out: absolute paths, nothing created.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_MARKS = (".pi", ".git")


def home_dir(env: Mapping[str, str]) -> Path:
    """Return the user's home, from HOME first so that a test or a service can move it."""
    home = env.get("HOME")
    return Path(home) if home else Path.home()


def agent_dir(env: Mapping[str, str]) -> Path:
    """Return pi's agent directory: our variable, then pi's own, then the default."""
    for name in ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR"):
        value = env.get(name)
        if value:
            return _expanded(value, env)
    return home_dir(env) / ".pi" / "agent"


def data_dir(env: Mapping[str, str]) -> Path:
    """Return the user's data directory for this package (managed pi, fallback run store)."""
    own = env.get("PI_SUBAGENTS_DATA")
    if own:
        return _expanded(own, env)
    xdg = env.get("XDG_DATA_HOME")
    if xdg and Path(xdg).is_absolute():  # the XDG rule: relative values are ignored
        return Path(xdg) / "pi-subagents"
    if sys.platform == "darwin":
        return home_dir(env) / "Library" / "Application Support" / "pi-subagents"
    return home_dir(env) / ".local" / "share" / "pi-subagents"


def project_root(cwd: Path) -> Path:
    """Return the nearest ancestor that has `.pi` or `.git`, else the directory itself."""
    for candidate in (cwd, *cwd.parents):
        if any((candidate / mark).exists() for mark in PROJECT_MARKS):
            return candidate
    return cwd


def _expanded(value: str, env: Mapping[str, str]) -> Path:
    if value == "~" or value.startswith("~/"):
        value = str(home_dir(env)) + value[1:]
    return Path(os.path.abspath(value))  # noqa: PTH100 - lexical: links stay as the user wrote them
