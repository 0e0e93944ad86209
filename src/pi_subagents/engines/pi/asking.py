"""
Ask a pi in RPC mode, within limits of time and size.

In: how it is started, and the commands it is given.  Out: its answer to each, or why there is none.
Whatever happens, the process and its group are ended; if we are killed meanwhile, Linux ends it
too, elsewhere its input just ends.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import LineFramer, Skipped
from pi_subagents.core.plain_text import printable
from pi_subagents.core.value import value
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.invocation import asking_environment
from pi_subagents.system import tethered
from pi_subagents.system.programs import end_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_OUTPUT_BYTES = 32 * 1024 * 1024
_CHUNK = 64 * 1024
END_GRACE_S = 2.0
_TAIL_BYTES = 8192
_TAIL_LINES = 12
_STACK_FRAME = re.compile(r"\s+at \S")

Reply = dict[str, object]


@value
class PiAnswers:
    """What pi answered, by command; if anything is missing, why, and the end of its complaints."""

    replies: dict[str, Reply]
    reason: str = ""
    output: tuple[str, ...] = ()


def ask_pi(
    argv: Sequence[str],
    commands: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    limit_s: float,
) -> PiAnswers:
    """Start pi, give it the commands, end it; never raises for what pi does."""
    deadline = time.monotonic() + limit_s
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", tethered.__file__, str(os.getpid()), *argv],
            env=asking_environment(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return PiAnswers({}, str(error))
    heard = _Heard(commands)
    try:
        _listen(process, heard, deadline)
    finally:
        end_asked(process, END_GRACE_S)
    if heard.complete:
        return PiAnswers(heard.replies)
    if heard.late or process.returncode is None:
        reason = messages.pi_gave_no_answer(limit_s)
    elif heard.size > MAX_OUTPUT_BYTES:
        reason = messages.pi_wrote_too_much(MAX_OUTPUT_BYTES)
    else:
        reason = messages.pi_ended_unasked(process.returncode)
    return PiAnswers(heard.replies, reason, _tail(heard.errors))


class _Heard:
    """What pi has written so far: its answers, and the end of its complaints."""

    def __init__(self, commands: Sequence[str]) -> None:
        self.commands = commands
        self.replies: dict[str, Reply] = {}
        self.errors = b""
        self.size = 0
        self.late = False
        self._lines = LineFramer(MAX_OUTPUT_BYTES)

    @property
    def complete(self) -> bool:
        """Whether every command is answered."""
        return len(self.replies) == len(self.commands)

    def take_output(self, chunk: bytes) -> None:
        """Look for answers among events and whatever extensions print."""
        self.size += len(chunk)
        for frame in self._lines.feed(chunk):
            with suppress(ValueError, RecursionError):
                match reply := json.loads(b"" if isinstance(frame, Skipped) else frame.data):
                    case {"type": "response", "command": str(command)} if command in self.commands:
                        self.replies.setdefault(command, reply)

    def take_errors(self, chunk: bytes) -> None:
        """Keep the end."""
        self.errors = (self.errors + chunk)[-_TAIL_BYTES:]


def _listen(process: subprocess.Popen[bytes], heard: _Heard, deadline: float) -> None:
    """Send the commands and read until they are answered, pi has ended, or a limit is reached."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):  # it has ended; the reason is in what it wrote
        process.stdin.write(
            b"".join(json.dumps({"type": name}).encode() + b"\n" for name in heard.commands)
        )
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, heard.take_output)
        ready.register(process.stderr, selectors.EVENT_READ, heard.take_errors)
        while ready.get_map() and not heard.complete and heard.size <= MAX_OUTPUT_BYTES:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                # One that has ended is reported as such, whatever holds its errors open.
                heard.late = process.poll() is None
                return
            for key, _ in ready.select(left_s):
                chunk = os.read(key.fd, _CHUNK)
                if chunk:
                    key.data(chunk)
                    continue
                ready.unregister(key.fileobj)
                # Without output there will be no answer, and others may hold its errors open.
                if key.fileobj is process.stdout:
                    deadline = min(deadline, time.monotonic() + END_GRACE_S)


def _tail(errors: bytes) -> tuple[str, ...]:
    lines = printable(errors.decode(errors="replace")).split("\n")
    # Where Node was when it failed means nothing; what failed stands above it.
    telling = [line.rstrip() for line in lines if line.strip() and not _STACK_FRAME.match(line)]
    return tuple(telling[-_TAIL_LINES:])
