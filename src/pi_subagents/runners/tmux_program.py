"""
Find the tmux that shows runs, and make sure that it is new enough.

In: an environment, the working directory.  Out: the program; TmuxNotFound or TmuxTooOld.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from pi_subagents.errors import TmuxNotFound, TmuxTooOld
from pi_subagents.system.programs import search_program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OLDEST = (3, 0)
_ANSWER_LIMIT_S = 10
# "tmux 3.3a", "tmux next-3.5"; a build from source may only say "tmux master".
_VERSION = re.compile(r"tmux (?:next-)?([0-9]{1,4})\.([0-9]{1,4})")


def check_tmux(env: Mapping[str, str], cwd: Path) -> Path:
    """Return the first tmux on PATH that is not inside the working directory."""
    program = search_program("tmux", env, cwd).found
    if program is None:
        raise TmuxNotFound
    version = _version_of(program)
    if version is None:
        raise TmuxNotFound(str(program))
    if is_too_old(version):
        raise TmuxTooOld(version, ".".join(map(str, OLDEST)))
    return program


def is_too_old(version: str) -> bool:
    """Return whether a tmux that calls itself so lacks what we need; an unknown name is new."""
    found = _VERSION.match(version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def _version_of(program: Path) -> str | None:
    """Return what the program calls itself, or None if it cannot be run."""
    try:
        done = subprocess.run(
            [program, "-V"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_LIMIT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout[:100].decode("utf-8", "replace").strip()
