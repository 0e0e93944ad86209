"""
Start our own command as a process that belongs to nobody, and hear how it ended.

In: arguments, what it reads, where it works.  Out: a process in a session of its own, which goes on
when we end, or its terminal does.  It is the same installation, and never a module of the directory
it works in.  What it reads is not in its command line.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_subagents.procs.own_thread import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MAX_SAID_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command of ours ended, and the last it said on standard error."""

    code: int
    said: str


def start_own_command(
    arguments: Sequence[str],
    text: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    on_end: Callable[[Ended], None],
) -> int:
    """Start it and return its process id; OSError where that is impossible."""
    said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the thread that waits
    try:
        # -P: the working directory may hold anything under the names of our modules.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pi_subagents", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
    except OSError:
        said.close()
        raise

    def attend() -> None:
        with said:
            with suppress(OSError):  # it may have ended already
                process.communicate(text.encode("utf-8", "replace"))
            code = process.wait()
            size = said.seek(0, os.SEEK_END)
            said.seek(max(size - MAX_SAID_BYTES, 0))
            last_words = said.read().decode("utf-8", "replace").strip()
        on_end(Ended(code, last_words))

    if not start_thread("own-command", attend):
        process.kill()  # nobody could tell it what to do
        attend()
    return process.pid
