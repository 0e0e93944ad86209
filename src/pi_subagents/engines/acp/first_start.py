"""
The first start of an agent in a home, alone: two at once would both make its databases, and fail.

In: an agent that was found.  Out: nothing.  Where its databases are there, nothing is done; what
goes wrong here goes wrong in the run too, which says it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.system.home import data_dir, home_dir
from pi_subagents.system.safe_io import make_private_dirs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.engines.acp.agent import Databases

FOLDER = "first-starts"


def make_first_start(
    name: str, databases: Databases | None, env: Mapping[str, str], start: Callable[[], object]
) -> None:
    """Start an agent once where nobody has; whoever comes meanwhile waits for that."""
    if databases is None or are_there(databases, env):
        return
    home = hashlib.sha256(os.fsencode(place_of(databases, env))).hexdigest()[:16]
    try:
        make_private_dirs(directory := data_dir(env) / FOLDER)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(directory / f"{name}-{home}", flags, 0o600)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # An agent that keeps them elsewhere by now is not started each time for nothing.
        if not (are_there(databases, env) or os.fstat(lock).st_size):
            start()
            os.write(lock, b"done\n")
    finally:
        os.close(lock)


def are_there(databases: Databases, env: Mapping[str, str]) -> bool:
    """Return whether an agent was started in this home before."""
    return any(True for _ in place_of(databases, env).glob(databases.pattern))


def place_of(databases: Databases, env: Mapping[str, str]) -> Path:
    """Return where an agent keeps its databases."""
    return Path(env.get(databases.variable) or home_dir(env) / databases.directory)
