"""
Tell the user's own command that a background run ended: at most once, whoever notices the end.

In: the command as a list, the run's directory and result.  The command gets one JSON object on
standard input and is not waited for.  The supervisor does it, or whoever finds its run lost.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run_result import result_to_json
from pi_subagents.core.value import replace
from pi_subagents.disk.safe_io import open_new

if TYPE_CHECKING:
    from pi_subagents.core.run_result import RunResult
    from pi_subagents.disk.run_dir import RunDir

# What a pipe holds, so that nobody has to wait until the command has read it.
MAX_OUTPUT = 8192


def tell_completion(command: tuple[str, ...], run_dir: RunDir, result: RunResult) -> None:
    """Start the command, unless this run's end has been told before."""
    if not command:
        return
    with suppress(OSError, ValueError):  # a command that cannot be run harms nobody's result
        os.close(open_new(run_dir.told))
        told = result_to_json(replace(result, output=result.output[:MAX_OUTPUT]))
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps({**told, "runDir": str(run_dir.path)}).encode())
        process.returncode = 0  # nobody waits for it: whoever adopts it will
