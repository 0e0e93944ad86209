"""
Ask a pi which models it has, within limits of time and size.

In: how a child would be started.  Out: the models, as pi lists them in RPC mode with the child's
own trust, options and extensions; ModelsUnknown if it does not.  Whatever happens, the process and
its group are ended; if we are killed meanwhile, Linux ends it too, elsewhere its input just ends.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.framing import LineFramer, Skipped
from pi_subagents.core.invocation import CHILD_VARIABLE, MARKER_VARIABLE
from pi_subagents.core.model_names import Model, parse_models
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.engines import tethered
from pi_subagents.errors import ModelsUnknown

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.disk.model_config import ChildSetup

LIMIT_S = 20.0
MAX_OUTPUT_BYTES = 32 * 1024 * 1024
COMMAND = "get_available_models"
REQUEST = json.dumps({"type": COMMAND}).encode("ascii") + b"\n"
# A child in JSON mode looks for no new models on the network either.
QUIET = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
_CHUNK = 64 * 1024
_END_GRACE_S = 2.0
_TAIL_BYTES = 8192
_TAIL_LINES = 12
_MAX_ERROR = 500


def ask_models(setup: ChildSetup, *, limit_s: float = LIMIT_S) -> tuple[Model, ...]:
    """Start pi, ask, end pi; ModelsUnknown says what went wrong and what pi wrote about it."""
    deadline = time.monotonic() + limit_s
    try:
        process = _start(setup)
    except (OSError, ValueError) as error:
        raise ModelsUnknown(str(error)) from error
    heard = _Heard()
    try:
        _listen(process, heard, deadline)
    finally:
        _end(process)
    if heard.reply is None:
        raise ModelsUnknown(_reason(heard, process.returncode, limit_s), _tail(heard.errors))
    return _models(heard.reply)


class _Heard:
    """What pi has said so far: the answer, if it was that, and the end of its complaints."""

    def __init__(self) -> None:
        self.reply: dict[str, object] | None = None
        self.errors = b""
        self.size = 0
        self.late = False
        self._lines = LineFramer(MAX_OUTPUT_BYTES)

    @property
    def enough(self) -> bool:
        """Whether there is an answer, or more than any answer has."""
        return self.reply is not None or self.size > MAX_OUTPUT_BYTES

    def take_output(self, chunk: bytes) -> None:
        """Look for the answer among whatever extensions and events say."""
        self.size += len(chunk)
        for frame in self._lines.feed(chunk):
            self.reply = self.reply or _reply(frame)

    def take_errors(self, chunk: bytes) -> None:
        """Keep the end."""
        self.errors = (self.errors + chunk)[-_TAIL_BYTES:]


def _reply(frame: Frame) -> dict[str, object] | None:
    if isinstance(frame, Skipped):
        return None
    try:
        record = json.loads(frame.data)
    except (ValueError, RecursionError):
        return None
    is_answer = (
        isinstance(record, dict)
        and record.get("type") == "response"
        and record.get("command") == COMMAND
    )
    return record if is_answer else None


def _start(setup: ChildSetup) -> subprocess.Popen[bytes]:
    env = {name: value for name, value in setup.env.items() if name != MARKER_VARIABLE}
    return subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", tethered.__file__, str(os.getpid())),
            *setup.pi_argv,
            *("--mode", "rpc", "--no-session"),
            "--approve" if setup.trusted else "--no-approve",
            *setup.arguments,
        ],
        env={**env, **QUIET, CHILD_VARIABLE: "1"},
        cwd=setup.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _listen(process: subprocess.Popen[bytes], heard: _Heard, deadline: float) -> None:
    """Send the request and read until it is answered, pi has ended, or a limit is reached."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):  # it has ended; why stands in what it wrote
        process.stdin.write(REQUEST)
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, heard.take_output)
        ready.register(process.stderr, selectors.EVENT_READ, heard.take_errors)
        while ready.get_map() and not heard.enough:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                # One that has ended is told of as such, whoever holds its errors open.
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
                    deadline = min(deadline, time.monotonic() + _END_GRACE_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let pi end by itself, as it does without input; then end whatever is left of its group."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_GRACE_S)
    # Also when pi itself is gone: the number stays its group's as long as any member lives.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel
        process.wait(_END_GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _reason(heard: _Heard, exit_code: int | None, limit_s: float) -> str:
    if heard.late or exit_code is None:
        return messages.pi_gave_no_answer(limit_s)
    if heard.size > MAX_OUTPUT_BYTES:
        return messages.pi_wrote_too_much(MAX_OUTPUT_BYTES)
    return messages.pi_ended_unasked(exit_code)


def _tail(errors: bytes) -> tuple[str, ...]:
    lines = printable(errors.decode(errors="replace")).split("\n")
    return tuple(line.rstrip() for line in lines if line.strip())[-_TAIL_LINES:]


def _models(reply: dict[str, object]) -> tuple[Model, ...]:
    if reply.get("success") is not True:
        raise ModelsUnknown(one_line(str(reply.get("error")), _MAX_ERROR))
    data = reply.get("data")
    models = data.get("models") if isinstance(data, dict) else None
    if not isinstance(models, list):
        raise ModelsUnknown(messages.MODELS_IN_UNKNOWN_FORM)
    return parse_models(models)
