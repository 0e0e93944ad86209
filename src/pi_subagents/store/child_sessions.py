"""
Keep a child's own session in its run's directory, and read it again for a run that goes on with it.

The directory is in the project, where any task can write: a session is believed only with the seal
that its run's result has of it.  What it says is the engine's business.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import MAX_RUN_BYTES
from pi_subagents.core.value import value
from pi_subagents.store import messages
from pi_subagents.store.sealing import Sealer
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

SHARE = 8  # what it may take of what a run may take


@value
class KeptSession:
    """What proves that the session in the run's directory is the child's; or why there is none."""

    seal: str = ""
    note: str = ""


def session_limit(max_run_bytes: int = MAX_RUN_BYTES) -> int:
    """Return how large a session may be to be kept."""
    return max_run_bytes // SHARE


def keep_session(source: Path | None, run_dir: RunDir, limit: int) -> KeptSession:
    """Copy what a child has written of its session, if it has; never raises OSError."""
    if source is None or not os.path.lexists(source):
        return KeptSession()
    try:
        if source.lstat().st_size > limit:
            return not_kept(run_dir, messages.larger_than(limit))
        sealer = _sealer(run_dir)
        safe_io.copy_file(source, run_dir.child_session, on_chunk=sealer.take)
    except FileNotFoundError:  # the directory is gone: that has a note of its own
        return KeptSession()
    except OSError as error:
        return not_kept(run_dir, error.strerror or str(error))
    return KeptSession(sealer.seal())


def read_session(run_dir: RunDir, seal: str, limit: int) -> bytes:
    """Return the session as it was kept; OSError or ValueError, with the reason, if it is not."""
    try:
        content = safe_io.read_bounded(run_dir.child_session, limit)
    except FileNotFoundError:
        raise ValueError(messages.SESSION_IS_GONE) from None
    sealer = _sealer(run_dir)
    sealer.take(content)
    if sealer.seal() != seal:
        raise ValueError(messages.SESSION_CHANGED)
    return content


def not_kept(run_dir: RunDir, reason: str) -> KeptSession:
    """Return that there is no session, and why."""
    return KeptSession(note=messages.note_session_not_kept(run_dir.child_session.name, reason))


def _sealer(run_dir: RunDir) -> Sealer:
    return Sealer(run_dir.desk.data_dir, f"session\0{run_dir.run_id}\0".encode("ascii", "replace"))
