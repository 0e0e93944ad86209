"""
Where things live: agent directory, data directory, project root.

In: an environment mapping and a directory.  Out: absolute paths, nothing created.  Settings,
profiles, presets and runs are in pi's own directories, by contract, whatever the children are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_DIR = ".pi"  # what a project keeps for us
PROJECT_MARKS = (PROJECT_DIR, ".git")
PROJECT_RUNS = (PROJECT_DIR, "subagents", "runs")  # where its runs are, below its root
# Ours, which pi itself does not read, and its own.
AGENT_DIR_VARIABLES = ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR")


@value
class CheckedPlace:
    """Where the doctor looks: a directory and an environment."""

    cwd: Path
    env: Mapping[str, str]


def home_dir(env: Mapping[str, str]) -> Path:
    """Return the user's home, from HOME first so that a test or a service can move it."""
    home = env.get("HOME")
    return Path(home) if home else Path.home()


def agent_dir(env: Mapping[str, str]) -> Path:
    """Return pi's agent directory: our variable, then pi's own, then the default."""
    for name in AGENT_DIR_VARIABLES:
        value = env.get(name)
        if value:
            return _expanded(value, env)
    return home_dir(env) / PROJECT_DIR / "agent"


def with_agent_dir(env: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return the environment with another agent directory, for us and for pi itself."""
    ours, pis = AGENT_DIR_VARIABLES
    rest = {name: value for name, value in env.items() if name != ours}
    return {**rest, pis: str(directory)}


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
