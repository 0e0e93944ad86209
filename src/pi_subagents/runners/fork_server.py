"""
Supervisors by fork: a process that has loaded what they need makes each in a few milliseconds.

It serves one caller and ends with it, takes no run and reaps nobody's children; the supervisors it
made live on without it.  It is never needed: where there is none, or it does not answer, or this
kernel has no handles on processes, `fork` returns None, and the caller starts a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pi_subagents.core.run.spec import FORK
from pi_subagents.runners import supervisor_start
from pi_subagents.runners.supervisor_start import PACKAGE_ROOT, SUPERVISOR
from pi_subagents.system.identity import handles_are_offered
from pi_subagents.system.lean_asyncio import import_lean_asyncio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# How long it may take to answer, its own start included.
ANSWER_LIMIT_S = 2.0
# What Python makes of its texts is decided when it starts.
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")
_LIMITS = tuple(
    sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
)
_MAX_ANSWER = 64


class ForkedProcess:
    """A supervisor that is not our child, with what `Popen` offers of one that is."""

    def __init__(self, pid: int, handle: int, stdout: int) -> None:
        self.pid = pid
        self.stdout = open(stdout, "rb", buffering=0)  # noqa: SIM115 - a descriptor, closed by the owner
        self._handle = handle
        self._over = False
        self._lock = Lock()  # the pool waits in a thread for those that leave

    def poll(self) -> int | None:
        """Return None while it lives; how it ended is known from its run, not from here."""
        return 0 if self._ends_within(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it is gone; TimeoutExpired if that takes longer."""
        if not self._ends_within(timeout):
            raise subprocess.TimeoutExpired("supervisor", timeout or 0)
        return 0

    def send_signal(self, number: int) -> None:
        """Signal exactly this process, if it is still there."""
        with self._lock, suppress(ProcessLookupError):
            if not self._over:
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _ends_within(self, seconds: float | None) -> bool:
        with self._lock:
            if self._over:
                return True
            mine = os.dup(self._handle)
        try:
            poll = select.poll()
            poll.register(mine, select.POLLIN)
            over = bool(poll.poll(None if seconds is None else seconds * 1000))
        finally:
            os.close(mine)
        with self._lock:
            if over and not self._over:
                self._over = True
                os.close(self._handle)
        return over


class ForkServer:
    """The server of one caller, once there is something to fork."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._locale: tuple[str | None, ...] = ()

    def begin(self, env: Mapping[str, str]) -> None:
        """Start it unless it runs; nothing waits for that."""
        locale = _locale_of(env)
        if self._process is not None and self._process.poll() is None and locale == self._locale:
            return
        self.close()
        if not handles_are_offered():
            return
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    (*SUPERVISOR, supervisor_start.BOOT, PACKAGE_ROOT, FORK),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=env,
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                return
        ours.settimeout(ANSWER_LIMIT_S)
        self._channel, self._locale = ours, locale

    def fork(self, env: Mapping[str, str], stdin: int) -> ForkedProcess | None:
        """Return a supervisor with that standard input; None where no server makes one."""
        if self._channel is None or _locale_of(env) != self._locale:
            return None
        try:
            with ExitStack() as ours:
                place = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                ours.callback(os.close, place)
                news, theirs = os.pipe()
                ours.callback(os.close, theirs)
                not_used = ours.enter_context(ExitStack())
                not_used.callback(os.close, news)
                request = json.dumps(_inherited(env)).encode("ascii") + b"\n"
                sent = socket.send_fds(self._channel, [request], [stdin, theirs, place])
                self._channel.sendall(request[sent:])
                answer, handles, *_ = socket.recv_fds(self._channel, _MAX_ANSWER, 1)
                process = ForkedProcess(int(answer), handles[0], news)
                not_used.pop_all()
                return process
        except (OSError, ValueError, IndexError):
            self.close()
            return None

    def close(self) -> None:
        """End it; the supervisors that it made stay."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


EARLY: list[ForkServer] = []  # the server that was started for a call to come, if one was


@contextmanager
def begun_early(env: Mapping[str, str]) -> Iterator[None]:
    """Have the server of a call start beside all that is imported for it; it ends with the call."""
    server = ForkServer()
    server.begin(env)
    EARLY[:] = [server]
    try:
        import_lean_asyncio()
        yield
    finally:
        EARLY.clear()
        server.close()


def _locale_of(env: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(env.get(name) for name in _LOCALE)


def _inherited(env: Mapping[str, str]) -> dict[str, object]:
    """Return what a process of our own would inherit."""
    return {
        "env": dict(env),
        "umask": _umask(),
        "limits": [(number, *resource.getrlimit(number)) for number in _LIMITS],
    }


def _umask() -> int:
    """Return ours without changing it, which other threads would notice."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text("utf-8", "replace").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
