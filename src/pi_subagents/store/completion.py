"""
Report that a background run ended: to the user's own command, and to the hosts that watch it.

The command runs at most once, whichever process notices the end: the supervisor, or the one that
finds that it could not.  It gets one JSON object on standard input and is not waited for.

Of several watchers one announces the end: it holds a lock meanwhile, and leaves a mark afterwards.
The kernel releases the lock of a watcher that died, and then another may.  So the end is announced
once, and again only if a watcher died between its announcement and the mark.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import result_to_json
from pi_subagents.core.value import replace
from pi_subagents.system.calls import FileCalls
from pi_subagents.system.safe_io import acquire_lock, open_regular, write_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

MAX_OUTPUT = 8192
REAPER = "reaper of on_complete"


def run_completion_hook(
    command: tuple[str, ...], run_dir: RunDir, result: RunResult, where: str = ""
) -> None:
    """
    Start the command, unless that was done for this run before; without one, remember that.

    `where` is the directory as the command gets it, if it has another name for us.
    """
    content = b""
    with suppress(OSError, ValueError):  # a command that cannot be run harms no result
        if command:
            cut = result_to_json(replace(result, output=result.output[:MAX_OUTPUT]))
            content = json.dumps({**cut, "runDir": where or str(run_dir.path)}).encode("ascii")
        if write_once(run_dir.completion, content) and command:
            _start(command, run_dir)


def _start(command: tuple[str, ...], run_dir: RunDir) -> None:
    # A file, not a pipe: nothing has to wait until the command has read it.
    content = open_regular(run_dir.completion)
    try:
        process = subprocess.Popen(
            command,
            stdin=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        os.close(content)
    # A host that lives on must not collect dead commands; a supervisor is gone before this matters.
    with suppress(RuntimeError):  # no more threads may be started
        threading.Thread(target=process.wait, name=REAPER, daemon=True).start()


def is_announced(run_dir: RunDir) -> bool:
    """Return whether a watcher has announced the run's end."""
    return os.path.lexists(_mark(run_dir))


@contextmanager
def announcing(run_dir: RunDir) -> Iterator[bool]:
    """Yield whether the end is ours to announce; it counts as done unless that raises."""
    claim = run_dir.path / "notice.claimed"
    lock = None
    with suppress(OSError):
        lock = acquire_lock(claim)
    if lock is None:
        yield False
        return
    try:
        # Looked at while we hold the lock: a watcher that had it before has left its mark by now.
        ours = not is_announced(run_dir)
        yield ours
        if ours:
            with suppress(OSError):
                FileCalls.rename(claim, _mark(run_dir))
    finally:
        os.close(lock)


def _mark(run_dir: RunDir) -> Path:
    return run_dir.path / "notice.done"
