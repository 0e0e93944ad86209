"""
What survives the loss of a run's directory: the run in the data directory, its result in an
envelope.

A run whose directory was removed gets another, where it is found by its id, with what it was asked
and started with; the process that has its logs open moves them there.

An envelope is memory that caller and supervisor hold, and that nothing can remove.  The caller
makes it and hands it down with the run's lock; the supervisor puts the result in before it
ends.  Neither waits for the other, and no file can be removed, filled up or replaced in between.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.files import APPEND_PROMPT, META, ORDERS, PROMPT, SYSTEM_PROMPT, TASK
from pi_subagents.core.run.result import result_from_json, result_to_json
from pi_subagents.core.value import replace
from pi_subagents.store.run_dir import RESERVED_BYTES
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

_TEXTS = (PROMPT, TASK, SYSTEM_PROMPT, APPEND_PROMPT, ORDERS, META)


def ensure_dir(run_dir: RunDir) -> RunDir:
    """Return the run where it has a directory; one that has none gets one, OSError if it cannot."""
    here = run_dir.now()
    return here if os.path.lexists(here.path) else rescue(here)


def rescue(run_dir: RunDir) -> RunDir:
    """Give the run a directory out of reach of the project, and note on its desk where that is."""
    target = replace(run_dir, path=run_dir.desk.rescue_place(run_dir.path))
    store = target.path.parent
    for directory in (store.parent, store, target.path):
        safe_io.make_private_dirs(directory)
    for name in _TEXTS:
        with suppress(FileNotFoundError):
            safe_io.copy_file(run_dir.desk.path / name, target.path / name)
    with suppress(FileExistsError):
        safe_io.reserve(target.reserved, RESERVED_BYTES)
    target.desk.note_place(target.path)
    return target


def move_rest(left: Path, target: RunDir) -> None:
    """Move what is left in a directory to a run's new place; what is there already stays."""
    with suppress(OSError):
        for name in os.listdir(left):  # noqa: PTH208 - names are all that is wanted
            with suppress(OSError):
                is_file = stat.S_ISREG((left / name).lstat().st_mode)
                if is_file and not os.path.lexists(target.path / name):
                    safe_io.copy_file(left / name, target.path / name)
                (left / name).unlink()


def make_envelope() -> int:
    """Return an empty envelope; OSError if there is no memory or no descriptor left."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("result")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def put_result(envelope: int | None, result: RunResult) -> None:
    """Put the result in, if there is an envelope; without room for it the caller reads the disk."""
    if envelope is not None:
        with suppress(OSError):
            os.ftruncate(envelope, 0)
            os.lseek(envelope, 0, os.SEEK_SET)
            safe_io.write_all(envelope, safe_io.to_json_bytes(result_to_json(result)))


def take_result(envelope: int, run_id: str, session_id: str) -> RunResult | None:
    """Return the result of this run, if a whole one is there."""
    try:
        data = os.pread(envelope, os.fstat(envelope).st_size, 0)
        result = result_from_json(json.loads(data))
    except (OSError, ValueError, RecursionError):
        return None
    if result is None or (result.run_id, result.session_id) != (run_id, session_id):
        return None
    return result
