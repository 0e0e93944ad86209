"""
Start one child, send it its prompt and messages, keep how it ended, and hold the files it uses.

Its standard input may be its prompt, a file: it reads to the end whatever the size, and nothing has
to feed it.  Where it takes commands, run after run, it is a socket: a pipe could be opened for
writing by any process of the user, through /proc, and a tool of the child could give it commands.

A child that serves several runs has its prompts on the desk of the first and its session on that of
another; each of these desks is held by a lock of its own beyond the run's end.  Its prompt is sent
in the session that it still has from the run this one continues, else in one of its own.
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

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.files import APPEND_PROMPT, CHILD_SESSION, SYSTEM_PROMPT
from pi_subagents.engines.conversation import Beginning
from pi_subagents.store.desk import PLACE, Desk
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.listener import NonblockingWriter
from pi_subagents.supervisor.reuse import note_own_processes
from pi_subagents.system.identity import identify
from pi_subagents.system.process_tree import die_with_parent
from pi_subagents.system.safe_io import copy_file, open_regular

if TYPE_CHECKING:
    import selectors

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.store.run_dir import RunDir

# What a child that was kept still has open, or reads again at its next session.
_OF_A_CHILD = ("child", CHILD_SESSION, SYSTEM_PROMPT, APPEND_PROMPT)


class Child:
    """A started child: its pipes, and its exit once it was reaped."""

    def __init__(
        self, process: subprocess.Popen[bytes], marker: str, commands: NonblockingWriter | None
    ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self.pid = process.pid
        self.stdout, self.stderr = process.stdout.fileno(), process.stderr.fileno()
        for pipe in (self.stdout, self.stderr):
            os.set_blocking(pipe, False)
        self.marker = marker  # what its processes are known by
        self.input = commands  # where it takes commands, if it does
        self.exit_code: int | None = None
        self.signal_name = ""
        # Of one that serves several runs:
        self.started = time.monotonic()
        self.runs = 0
        self.last_run = ""
        self.early_errors = b""  # what it printed before its first run
        self.own_processes: frozenset[int] = frozenset()  # part of it, not left behind by a run
        self.session: Path | None = None  # the file it writes its own session to
        self.desks: dict[Desk, int] = {}  # which it may use beyond a run, and their locks
        self.conditions = b""  # under which it began

    @property
    def ended(self) -> bool:
        """Return whether the child was reaped."""
        return self.exit_code is not None

    def note_exit(self, wait_status: int) -> None:
        """Keep how the child ended; death by a signal is 128 + n, and named."""
        code = os.waitstatus_to_exitcode(wait_status)
        if code < 0:
            self.signal_name = f"signal {-code}"
            with suppress(ValueError):
                self.signal_name = signal.Signals(-code).name
            code = 128 - code
        self.exit_code = code
        self._process.returncode = code  # it was reaped here, Popen must not wait for it

    def terminate(self) -> None:
        """Ask the child to end; it is not yet reaped, so the number is still its own."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
            # A stopped process (SIGSTOP) would never see the request.
            os.kill(self.pid, signal.SIGCONT)

    def note_in(self, run_dir: RunDir, started_ms: int) -> None:
        """Record which processes do the run, so that both are known again after a crash."""
        with suppress(OSError, ValueError):
            meta = run_dir.read_meta()
            meta["startedAt"] = started_ms
            for role, pid in (("supervisor", os.getpid()), ("child", self.pid)):
                identity = identify(pid)
                meta[role] = identity.to_json() if identity else {"pid": pid}
            meta["marker"] = self.marker
            run_dir.write_meta(meta)

    # Its files, on desks

    def hold(self, desk: Desk) -> None:
        """Use the desk of a run, also beyond the run's end."""
        if desk not in self.desks and (lock := desk.hold_for_child()) is not None:
            self.desks[desk] = lock

    def copy_session(self, run_dir: RunDir) -> None:
        """Copy its own session, as it is now, into the run's directory."""
        if self.session is not None:
            with suppress(OSError):
                copy_file(self.session, run_dir.child_session)

    def release_desks(self) -> None:
        """Remove what it used: it is gone."""
        for desk, lock in self.desks.items():
            os.close(lock)
            desk.clear()
        self.desks = {}


def start_child(spec: RunSpec, selector: selectors.BaseSelector) -> Child:
    """Start the child in a session of its own; OSError if it cannot be started."""
    if spec.child.takes_commands:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = _spawn(spec, theirs.fileno())
            commands = NonblockingWriter(ours.detach(), selector)
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
    return child


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


def clear_desk(desk: Desk, kept: Child | None) -> None:
    """Remove the desk of a run that is over, but for what a child that was kept may use."""
    in_use = kept is not None and desk in kept.desks
    desk.remove(keep=(PLACE, *(_OF_A_CHILD if in_use else ())))


def send_prompt(talk: Conversation, child: Child, spec: RunSpec, desk: Desk) -> bool:
    """Begin the conversation; return whether the child's account of its session is of this run."""
    continues = child.last_run != "" and child.last_run == spec.reuse.follows
    session = (spec.child.keeps_session or child.runs > 0) and not continues
    child.runs += 1
    child.last_run = spec.run_id
    try:
        with os.fdopen(open_regular(desk.task if continues else desk.prompt), "rb") as file:
            prompt = file.read().decode("utf-8", "replace")
        if session:
            desk.make_child_session()
            child.session = desk.child_session
    except OSError as error:
        talk.refuse(str(error))
        return not continues
    # A child to be kept is known as a whole before it begins: what it starts then is the run's.
    greets = spec.reuse.keep and not child.own_processes
    talk.begin(
        Beginning(
            prompt,
            session=str(desk.child_session) if session else None,
            on_ready=(lambda: note_own_processes(child)) if greets else None,
            is_up=child.runs > 1,
        )
    )
    return not continues


def send_message(conversation: Conversation, desk: Desk, number: str) -> list[ev.Event]:
    """Give the child the message of that number; return what is to be journaled about it."""
    try:
        text = desk.read_steer(number)
    except (OSError, ValueError):
        return [ev.Steer(number, ev.REFUSED, "", messages.STEER_UNREADABLE)]
    conversation.steer(number, text)
    return conversation.take_news()
