"""
A result on its way to the caller: memory that both sides hold, and nobody can take away.

The caller makes it and hands it down with the run's lock; the supervisor puts the result in before
it goes.  Nobody waits for anybody, and no file can be removed, filled up or replaced in between.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import result_from_json, result_to_json
from pi_subagents.system.safe_io import to_json_bytes, write_all

if TYPE_CHECKING:
    from pi_subagents.core.run.result import RunResult


def make_envelope() -> int:
    """Return an empty one; OSError if there is no memory or no descriptor left."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("result")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def put_result(envelope: int | None, result: RunResult) -> None:
    """Put the result in, if there is an envelope; without room for it the caller looks on disk."""
    if envelope is not None:
        with suppress(OSError):
            os.ftruncate(envelope, 0)
            os.lseek(envelope, 0, os.SEEK_SET)
            write_all(envelope, to_json_bytes(result_to_json(result)))


def take_result(envelope: int, run_id: str, session_id: str) -> RunResult | None:
    """Return the result of this run, if a whole one is in."""
    try:
        data = os.pread(envelope, os.fstat(envelope).st_size, 0)
        result = result_from_json(json.loads(data))
    except (OSError, ValueError, RecursionError):
        return None
    if result is None or (result.run_id, result.session_id) != (run_id, session_id):
        return None
    return result
