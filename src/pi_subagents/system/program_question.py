"""
Ask a program one question, within limits of time and size.

The program runs in a session of its own; one that does not end in time is killed with its whole
process group.  Started at once and read later, so that several can think at the same time.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_ANSWER_BYTES = 1024 * 1024
_CHUNK = 64 * 1024
_END_LIMIT_S = 2.0


@value
class ProgramAnswer:
    """What a program wrote to standard output; `exit_code` None means it had to be ended."""

    exit_code: int | None
    text: str


class ProgramQuestion:
    """A program that was started to answer; its owner closes it, so that no process is left."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, limit_s: float
    ) -> None:
        self._deadline = time.monotonic() + limit_s
        self._answer: ProgramAnswer | None = None
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def answer(self) -> ProgramAnswer:
        """Wait for the answer; a second call returns the same."""
        if self._answer is None:
            text, complete = self._read()
            self._answer = ProgramAnswer(self._exit_code() if complete else None, text)
            self.close()
        return self._answer

    def _read(self) -> tuple[str, bool]:
        """Return what was written, and whether that was all."""
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        ready = select.poll()
        ready.register(source, select.POLLIN)
        kept = b""
        while len(kept) <= MAX_ANSWER_BYTES:
            left_s = max(self._deadline - time.monotonic(), 0)
            if not ready.poll(left_s * 1000):
                break
            chunk = os.read(source, _CHUNK)
            if not chunk:
                return kept.decode("utf-8", "replace"), True
            kept += chunk
        return kept.decode("utf-8", "replace"), False

    def _exit_code(self) -> int | None:
        try:
            return self._process.wait(max(self._deadline - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End the program, if it has not ended; a second call changes nothing."""
        if self._process.returncode is None:  # not waited for: the number is still its own
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
                self._process.wait(_END_LIMIT_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
