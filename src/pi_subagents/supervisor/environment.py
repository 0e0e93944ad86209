"""
The environment that a caller gave its supervisor: children get it as it is.

Python adds LC_CTYPE to its own in the C locale, so what the kernel kept is read; one that was
forked has that of the process which forked it there, and takes the right one with its order.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.spec import RunSpec

_taken: list[dict[str, str]] = []


def given_environment() -> dict[str, str]:
    """Return the environment as we got it."""
    if _taken:
        return dict(_taken[0])
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


def environment_for(spec: RunSpec) -> dict[str, str]:
    """Return the caller's environment; of another worktree than its own it says nothing."""
    given = given_environment()
    if not spec.workspace.home:
        return given
    from pi_subagents.workspaces.git import without_local_variables

    return without_local_variables(given)


def take_environment(env: Mapping[str, str]) -> None:
    """Make this the environment of our process, and of its children."""
    _taken[:] = [dict(env)]
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
