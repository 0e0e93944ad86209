"""
Start one child, and tell how it ended.

Its standard input may be its prompt, a file: it reads to the end whatever the size, and nobody has
to feed it.  Where it takes commands, run after run, it is a socket: a pipe could be opened for
writing by any process of the user, through /proc, and a tool of the child could give it commands.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pi_subagents.store.desk import Desk
from pi_subagents.supervisor.child_input import ChildInput
from pi_subagents.system.identity import identify
from pi_subagents.system.process_tree import die_with_parent
from pi_subagents.system.safe_io import open_regular

if TYPE_CHECKING:
    import selectors

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.run_dir import RunDir


class Child:
    """A started child: its pipes, and its exit once it was reaped."""

    def __init__(
        self, process: subprocess.Popen[bytes], marker: str, commands: ChildInput | None
    ) -> None:
        self._process = process
        self.pid = process.pid
        self.marker = marker  # what its processes are known by
        self.input = commands  # where it takes commands, if it does
        self.exit_code: int | None = None
        self.signal_name = ""
        # What there is to know of one that serves several runs.
        self.started = time.monotonic()
        self.runs = 0
        self.last_run = ""
        self.early_errors = b""  # what it had to say before its first run
        self.own_processes: frozenset[int] = frozenset()  # part of it, not left behind by a run
        self.session: Path | None = None  # the file it writes its own session to
        self.desks: dict[Desk, int] = {}  # what it may read and write beyond a run, and the locks
        self.conditions = b""  # under which it began

    @property
    def stdout(self) -> IO[bytes]:
        """The child's standard output."""
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        """The child's standard error."""
        assert self._process.stderr is not None
        return self._process.stderr

    @property
    def ended(self) -> bool:
        """Return whether the child was reaped."""
        return self.exit_code is not None

    def note_exit(self, wait_status: int) -> None:
        """Keep how the child ended; death by a signal is 128 + n, and named."""
        code = os.waitstatus_to_exitcode(wait_status)
        if code < 0:
            self.signal_name = _signal_name(-code)
            code = 128 - code
        self.exit_code = code
        self._process.returncode = code  # it was reaped here, Popen must not wait for it

    def terminate(self) -> None:
        """Ask the child to end; it is not yet reaped, so the number is still its own."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
            # A stopped process (SIGSTOP) would never see the request.
            os.kill(self.pid, signal.SIGCONT)


def start_child(spec: RunSpec, selector: selectors.BaseSelector) -> Child:
    """Start the child in a session of its own; OSError if it cannot be started."""
    if spec.child.takes_commands:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = _spawn(spec, theirs.fileno())
            commands = ChildInput(ours.detach(), selector)
        session = None
    else:
        desk = Desk(Path(spec.place.desk))
        if spec.child.keeps_session:
            desk.make_child_session()
        with os.fdopen(open_regular(desk.prompt), "rb") as stdin:
            process = _spawn(spec, stdin)
        commands, session = None, desk.child_session if spec.child.keeps_session else None
    child = Child(process, spec.run_id, commands)
    child.session = session
    os.set_blocking(child.stdout.fileno(), False)
    os.set_blocking(child.stderr.fileno(), False)
    return child


def note_child(run_dir: RunDir, child: Child, started_ms: int) -> None:
    """Write down who does the run, so that both are known again after a crash."""
    with suppress(OSError, ValueError):
        meta = run_dir.read_meta()
        meta["startedAt"] = started_ms
        for role, pid in (("supervisor", os.getpid()), ("child", child.pid)):
            identity = identify(pid)
            meta[role] = identity.to_json() if identity else {"pid": pid}
        meta["marker"] = child.marker
        run_dir.write_meta(meta)


def _spawn(spec: RunSpec, stdin: int | IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(spec.child.argv),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=spec.child.cwd,
        env={**_given_environment(), **spec.child.environment},
        start_new_session=True,  # no terminal of the supervisor's can be reached from there
        preexec_fn=die_with_parent(),  # noqa: PLW1509 - the supervisor has one thread
    )


def _given_environment() -> dict[str, str]:
    """Return the environment as we got it: Python adds LC_CTYPE to its own in the C locale."""
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return dict(os.environ)
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
    return {name: value for name, _, value in pairs}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
