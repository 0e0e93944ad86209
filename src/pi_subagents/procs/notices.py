"""
Whose turn it is to tell of a background run's end: one watcher's, even if one of them dies.

A watcher claims the notice before it speaks and marks it done afterwards.  A claim of a process
that is gone counts for nothing.  So the end is told once, and again only if a watcher died in
between; whoever keeps a log knows by the run's id that it was told.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.disk import safe_io
from pi_subagents.disk.calls import Calls
from pi_subagents.procs.identity import identify, identity_from_json, is_alive

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.disk.run_dir import RunDir

MAX_CLAIM_BYTES = 4096


def claim_notice(run_dir: RunDir) -> bool:
    """Tell whether it is this process that has to tell of the run's end."""
    claim, done = _claim(run_dir), _done(run_dir)
    if os.path.lexists(done):
        return False
    if os.path.lexists(claim):
        if _held(claim):
            return False
        with suppress(OSError):  # another was quicker, and will claim it himself
            Calls.rename(claim, claim.with_suffix(f".stale-{os.getpid()}"))
    own = identify(os.getpid())
    with suppress(OSError):
        return safe_io.write_once(claim, safe_io.to_json_bytes(own.to_json() if own else {}))
    return False


def notice_done(run_dir: RunDir) -> None:
    """Note that the end has been told."""
    with suppress(OSError):
        Calls.rename(_claim(run_dir), _done(run_dir))


def _held(claim: Path) -> bool:
    try:
        holder = identity_from_json(safe_io.read_json(claim, MAX_CLAIM_BYTES))
    except (OSError, ValueError):
        return False
    return holder is not None and is_alive(holder)


def _claim(run_dir: RunDir) -> Path:
    return run_dir.path / "notice.claimed"


def _done(run_dir: RunDir) -> Path:
    return run_dir.path / "notice.done"
