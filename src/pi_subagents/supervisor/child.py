"""
Start one child, send it its prompt and messages, keep how it ended, and hold the files it uses.

Its standard input may be its prompt, a file: it reads to the end whatever the size, and nothing has
to feed it.  Where it takes commands, run after run, it is a socket: a pipe could be opened for
writing by any process of the user, through /proc, and a tool of the child could give it commands.

A child that serves several runs has its prompts on the desk of the first and its session on that of
another; each of these desks is held by a lock of its own beyond the run's end.  One that was
started before there was a run has a desk of its own.  Its prompt is sent in the session that it
still has from the run this one continues, else in one of the run's own: the copy that was put on
its desk, or a new one.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.files import APPEND_PROMPT, CHILD_SESSION, SYSTEM_PROMPT
from pi_subagents.core.run.spec import NATIVE
from pi_subagents.engines.conversation import Beginning
from pi_subagents.store.child_sessions import KeptSession, keep_session, not_kept
from pi_subagents.store.desk import PLACE, Desk
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.environment import environment_for
from pi_subagents.supervisor.listener import NonblockingWriter
from pi_subagents.supervisor.reuse import note_own_processes
from pi_subagents.supervisor.workspace import prove_place
from pi_subagents.system.identity import identify
from pi_subagents.system.process_tree import die_with_parent
from pi_subagents.system.safe_io import open_regular, replace_file

if TYPE_CHECKING:
    import selectors

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.engines.conversation import Conversation
    from pi_subagents.store.local_order import LocalOrder
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
        self.why_no_session = ""
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

    def note_session(self, content: bytes, desk: Desk) -> None:
        """Keep on the desk, from now on, how another child can go on with its session."""
        try:
            replace_file(desk.child_session, content)
        except OSError as error:
            self.why_no_session = error.strerror or str(error)
        else:
            self.session = desk.child_session

    def keep_session(self, run_dir: RunDir, limit: int) -> KeptSession:
        """Keep its own session, unless it has none, or that of a run before."""
        if self.session is None and self.why_no_session:
            return not_kept(run_dir, self.why_no_session)
        is_of_run = self.last_run in ("", run_dir.run_id)
        return keep_session(self.session if is_of_run else None, run_dir, limit)

    def release_desks(self) -> None:
        """Remove what it used: it is gone."""
        for desk, lock in self.desks.items():
            os.close(lock)
            desk.clear()
        self.desks = {}


def start_child(
    order: LocalOrder, selector: selectors.BaseSelector, *, again: bool = False
) -> Child:
    """
    Start the child in a session of its own, in its worktree; OSError if that is impossible.

    One that is started `again` goes on where another one was, as far as that is still there.
    """
    spec, desk, commands = order.spec, Desk(Path(order.place.desk)), None
    if prewarmed := spec.reuse.prewarm:
        desk = desk.beside()
        desk.make_for_child()
    session, why_not = _first_session(spec, desk, again=again)
    argv = spec.child.argv_in(str(session or ""))
    try:
        if spec.child.takes_commands:
            ours, theirs = socket.socketpair()
            with ours, theirs:
                process = _spawn(spec, argv, theirs.fileno())
                commands = NonblockingWriter(ours.detach(), selector)
        else:
            with os.fdopen(open_regular(desk.prompt), "rb") as stdin:
                process = _spawn(spec, argv, stdin)
    except (OSError, ValueError):
        if prewarmed:
            desk.remove()
        raise
    if spec.workspace.home:
        try:
            prove_place(spec, process.pid)
        except OSError:
            process.kill()
            process.wait()
            raise
    child = Child(process, spec.run_id, commands)
    child.session, child.why_no_session = session, why_not
    if prewarmed:
        child.hold(desk)
    return child


def _first_session(spec: RunSpec, desk: Desk, *, again: bool) -> tuple[Path | None, str]:
    """Return the file that a new child has its session in; None without, and why, if that is so."""
    if not spec.child.session_option:
        return None, ""
    try:
        if spec.resume.how != NATIVE and not again:  # that of a child that died before it was asked
            desk.child_session.unlink(missing_ok=True)
        desk.make_child_session()
    except OSError as error:
        return None, error.strerror or str(error)
    return desk.child_session, ""


def _spawn(spec: RunSpec, argv: tuple[str, ...], stdin: int | IO[bytes]) -> subprocess.Popen[bytes]:
    with ExitStack() as resources:
        steps = [die_with_parent()]
        if spec.child.writes_in:
            from pi_subagents.system.landlock import Confinement

            there = [each for each in spec.child.writes_in if Path(each).exists()]
            confinement = Confinement(there)
            resources.callback(confinement.close)
            steps.append(confinement.in_child())

        def prepare() -> None:
            for step in steps:
                step()

        try:
            return subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=spec.child.cwd,
                env={**environment_for(spec), **spec.child.environment},
                start_new_session=True,  # no terminal of the supervisor's is reached from there
                preexec_fn=prepare,  # noqa: PLW1509 - the supervisor has one thread
            )
        except subprocess.SubprocessError as error:
            raise OSError(messages.NOT_CONFINED) from error


def clear_desk(desk: Desk, kept: Child | None) -> None:
    """Remove the desk of a run that is over, but for what a child that was kept may use."""
    in_use = kept is not None and desk in kept.desks
    desk.remove(keep=(PLACE, *(_OF_A_CHILD if in_use else ())))


def send_prompt(talk: Conversation, child: Child, spec: RunSpec, desk: Desk) -> bool:
    """Begin the conversation; return whether it goes on in the session that the child still has."""
    continues = child.last_run != "" and child.last_run == spec.reuse.follows
    # Where earlier runs are part of the prompt, the task has a file of its own.
    task_alone = continues and spec.resume.how != NATIVE
    child.runs += 1
    child.last_run = spec.run_id
    try:
        with os.fdopen(open_regular(desk.task if task_alone else desk.prompt), "rb") as file:
            prompt = file.read().decode("utf-8", "replace")
        session = _new_session(child, spec, desk, continues=continues)
        orders = desk.read_orders()
    except OSError as error:
        talk.refuse(str(error))
        return continues
    # A child to be kept is known as a whole before it begins: what it starts then is the run's.
    greets = spec.reuse.keep and not child.own_processes
    talk.begin(
        Beginning(
            prompt,
            session=session,
            on_ready=(lambda: note_own_processes(child)) if greets else None,
            on_session=lambda kept: child.note_session(kept, desk),
            is_up=child.runs > 1,
            answer_within_s=spec.limits.answer_within_s,
            orders=orders,
        )
    )
    return continues


def _new_session(child: Child, spec: RunSpec, desk: Desk, *, continues: bool) -> str | None:
    """Return the session that the child has to open for a run; None if it is in the right one."""
    is_first = child.runs == 1
    if child.session == desk.child_session or (is_first and not spec.child.session_option):
        return None
    if continues or (is_first and spec.resume.how != NATIVE):
        if child.session is not None:
            desk.share_child_session(child.session)
        return None
    desk.make_child_session()
    child.session = desk.child_session
    return str(child.session)


def send_message(conversation: Conversation, desk: Desk, number: str) -> list[ev.Event]:
    """Give the child the message of that number; return what is to be journaled about it."""
    try:
        text = desk.read_steer(number)
    except (OSError, ValueError):
        return [ev.Steer(number, ev.REFUSED, "", messages.STEER_UNREADABLE)]
    conversation.steer(number, text)
    return conversation.take_news()
