"""
Tell the user's own command that a background run ended: at most once, whoever notices the end.

In: the command as a list, the run's directory and result.  The command gets one JSON object on
standard input and is not waited for.  The supervisor does it, or whoever finds that it could not.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import result_to_json
from pi_subagents.core.value import replace
from pi_subagents.system.safe_io import open_regular, write_once

if TYPE_CHECKING:
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

MAX_OUTPUT = 8192
REAPER = "reaper of on_complete"


def tell_completion(
    command: tuple[str, ...], run_dir: RunDir, result: RunResult, where: str = ""
) -> None:
    """
    Start the command, unless this run's end has been told before; without one, remember that.

    `where` is what the command is told of the directory, if that has another name for us.
    """
    with suppress(OSError, ValueError):  # a command that cannot be run harms nobody's result
        told = _told(where or str(run_dir.path), result) if command else b""
        if write_once(run_dir.told, told) and command:
            _start(command, run_dir)


def _told(where: str, result: RunResult) -> bytes:
    cut = result_to_json(replace(result, output=result.output[:MAX_OUTPUT]))
    return json.dumps({**cut, "runDir": where}).encode("ascii")


def _start(command: tuple[str, ...], run_dir: RunDir) -> None:
    # A file, not a pipe: nobody has to wait until the command has read it.
    told = open_regular(run_dir.told)
    try:
        process = subprocess.Popen(
            command,
            stdin=told,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        os.close(told)
    # A host that lives on must not collect dead commands; a supervisor is gone before this matters.
    with suppress(RuntimeError):  # no more threads may be started
        threading.Thread(target=process.wait, name=REAPER, daemon=True).start()
