"""
The supervisor: one small process around one child (standard library only, one thread).

Reads one specification from standard input, which then is its lifeline; starts the child, takes in
what it prints, applies the guards, ends the whole tree and writes result.json once.  Standard
output carries one byte per batch of new records, so that a watcher wakes up.

Ends when: the child exits; it settled and did not exit in time; a guard, a `stop` or `kill`, a
signal, or the end of the lifeline says so.  Whatever happens, a result is written.
"""

from __future__ import annotations

import fcntl
import json
import os
import selectors
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core import events as ev
from pi_subagents.core.framing import Frame, Line, LineFramer
from pi_subagents.core.guards import Rung, StopLadder, TimeoutGuard
from pi_subagents.core.outcome import Cause, Ending, Outcome
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.run_spec import KILL, STOP, RunSpec, spec_from_json
from pi_subagents.disk import crash_points
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.disk.run_log import RunLog
from pi_subagents.procs import process_tree
from pi_subagents.procs.child import Child, start_child
from pi_subagents.procs.completion_hook import tell_completion
from pi_subagents.procs.identity import identify
from pi_subagents.procs.intake import Intake, now_ms
from pi_subagents.procs.screen import Screen
from pi_subagents.procs.slots import await_slot

if TYPE_CHECKING:
    from collections.abc import Callable

LIFELINE = 0
WAKE = 1
READ_SIZE = 128 * 1024  # twice what a pipe holds
MAX_COMMAND_BYTES = 4096
MAX_SPEC_BYTES = 16 * 1024 * 1024
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Supervisor:
    """Owns one run from its lock to its result."""

    def __init__(self, spec: RunSpec, run_dir: RunDir, lifeline: LineFramer) -> None:
        self._spec = spec
        self._dir = run_dir
        self._lifeline = lifeline
        self._selector = selectors.DefaultSelector()
        self._log = RunLog(
            run_dir,
            f"{spec.name} (run {spec.run_id})",
            max_bytes=spec.max_run_bytes,
            show=Screen(spec.screen_fd, self._selector).show,
        )
        self._intake = Intake(
            self._log,
            looping_tool_count=spec.looping_tool_count,
            on_activity=self._on_activity,
            on_loop=lambda: self._stop(Cause.LOOPING),
        )
        self._ladder = StopLadder(spec.stop_grace_s)
        self._cause: Cause | None = None
        self._settled_at: float | None = None
        self._child: Child | None = None
        self._start_clock()

    def run(self, early_commands: list[Frame]) -> None:
        """Do the whole run; the result is written when this returns."""
        self._listen_to_signals()
        self._listen_to_commands()
        if self._dir.result.exists():  # stopped by one who found nobody listening
            self._stop_listening()
            return
        self._obey(early_commands)
        if not await_slot(self._spec.slots_dir, self._spec.max_children, self._serve):
            self._finish(Ending(cause=self._cause))
            return
        self._change_state("starting")
        try:
            child = self._child = start_child(self._spec, self._dir.prompt)
        except (OSError, ValueError) as error:
            self._finish(Ending(spawn_error=str(error)))
            return
        self._start_clock()
        crash_points.reach(crash_points.CHILD_SPAWNED)
        self._write_meta(child)
        self._change_state("running")
        self._watch(child)
        crash_points.reach(crash_points.CHILD_ENDED)
        self._end_tree(child)
        self._finish(
            Ending(
                exit_code=child.exit_code,
                signal_name=child.signal_name,
                cause=self._cause,
                timeout_s=self._spec.timeout_s,
                error_tail=self._intake.error_tail,
            )
        )

    def _start_clock(self) -> None:
        """Begin to count: time-outs run from the child's start, not from ours."""
        self._started_wall, self._started = now_ms(), time.monotonic()
        self._timeout = TimeoutGuard(
            started=self._started,
            timeout_s=self._spec.timeout_s,
            debounce_s=self._spec.extend_debounce_s,
            max_extension_s=self._spec.extend_max_s,
        )

    # What is listened to

    def _listen(self, descriptor: int, handle: Callable[[], None]) -> None:
        os.set_blocking(descriptor, False)
        self._selector.register(descriptor, selectors.EVENT_READ, handle)

    def _listen_to_signals(self) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *_STOP_SIGNALS):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        # Whoever started us may have held them back until there is somebody to hear them.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        self._listen(reader, lambda: self._on_signals(os.read(reader, 512)))

    def _listen_to_commands(self) -> None:
        if self._spec.attached:
            self._listen(LIFELINE, lambda: self._on_commands(LIFELINE, self._lifeline))
        with suppress(OSError):  # a file system without FIFOs costs `subagents stop`, no more
            os.mkfifo(self._dir.control, 0o600)
            # Opened for both directions: with a writer of our own it never reports its end.
            control = os.open(self._dir.control, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            framer = LineFramer(MAX_COMMAND_BYTES)
            self._listen(control, lambda: self._on_commands(control, framer))

    def _on_signals(self, numbers: bytes) -> None:
        # A background run outlives the terminal it was started from.
        deaf = () if self._spec.attached else (signal.SIGHUP,)
        if any(number in _STOP_SIGNALS and number not in deaf for number in numbers):
            self._stop(Cause.STOP_REQUESTED)

    def _on_commands(self, descriptor: int, framer: LineFramer) -> None:
        data = _read(descriptor)
        if data is None:
            return
        if not data:
            self._selector.unregister(descriptor)
            self._stop(Cause.LIFELINE_LOST)
        self._obey(framer.feed(data))

    def _obey(self, commands: list[Frame]) -> None:
        for frame in commands:
            command = frame.data.decode("ascii", "replace") if isinstance(frame, Line) else ""
            if command in (STOP, KILL):
                self._stop(Cause.STOP_REQUESTED)
            if command == KILL:
                self._ladder.force(time.monotonic())

    # The child at work

    def _streams(self, child: Child) -> tuple[tuple[int, Callable[[bytes], None]], ...]:
        return (
            (child.stdout.fileno(), self._intake.output),
            (child.stderr.fileno(), self._intake.error_output),
        )

    def _watch(self, child: Child) -> None:
        """Serve the child until it has been reaped."""
        for pipe, take in self._streams(child):
            self._listen(pipe, self._reader(pipe, take))
        while not child.ended:
            self._serve(self._pause())
            self._note_reaped(process_tree.reap()[0])
            self._check_time(child)
        for pipe, take in self._streams(child):
            # Its last words are in the pipe, which holds less than one read takes: journal them
            # before anything else can happen.
            if data := _read(pipe):
                take(data)

    def _serve(self, seconds: float | None) -> bool:
        """Wait for something to do and do it; tell whether the run may still begin."""
        for key, _ in self._selector.select(seconds):
            key.data()
        return self._cause is None

    def _reader(self, pipe: int, take: Callable[[bytes], None]) -> Callable[[], None]:
        def on_readable() -> None:
            data = _read(pipe)
            if data:
                known = self._log.records
                take(data)
                if self._log.records > known:  # most of a stream is deltas, which nobody waits for
                    self._wake()
            elif data is not None:
                self._selector.unregister(pipe)

        return on_readable

    def _on_activity(self) -> None:
        now = time.monotonic()
        self._timeout.saw_event(now)
        self._settled_at = (self._settled_at or now) if self._intake.fold.settled else None

    def _pause(self) -> float | None:
        deadlines = [self._ladder.deadline()]
        if not self._ladder.begun:
            deadlines.append(self._grace_ends() or self._timeout.deadline())
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _grace_ends(self) -> float | None:
        return None if self._settled_at is None else self._settled_at + self._spec.settled_grace_s

    def _check_time(self, child: Child) -> None:
        if child.ended:
            return
        now = time.monotonic()
        grace_ends = self._grace_ends()
        if grace_ends is None:
            if self._timeout.expired(now):
                self._stop(Cause.TIMED_OUT)
        elif now >= grace_ends and not self._ladder.begun:
            self._intake.notes.append(messages.NOTE_FORCED)
            self._begin_ladder(now)
        match self._ladder.due(now):
            case Rung.TERM:
                child.terminate()
            case Rung.KILL:
                process_tree.kill_tree(child.pid, self._note_reaped)

    def _stop(self, cause: Cause) -> None:
        """Begin to end the run; the first cause is the one that is told."""
        if self._cause is None and not self._ladder.begun:
            self._cause = cause
        self._begin_ladder(time.monotonic())

    def _begin_ladder(self, now: float) -> None:
        if not self._ladder.begun:
            self._change_state("stopping")
        self._ladder.begin(now)

    def _note_reaped(self, statuses: process_tree.Reaped) -> None:
        child = self._child
        if child is not None and child.pid in statuses:
            child.note_exit(statuses[child.pid])

    def _end_tree(self, child: Child) -> None:
        """Leave no process behind, then read what is left in the pipes."""
        if not process_tree.kill_tree(child.pid, self._note_reaped):
            self._intake.notes.append(messages.NOTE_PROCESSES_LEFT)
        for pipe, take in self._streams(child):
            while data := _read(pipe):
                take(data)
        self._intake.end()

    # What is left behind

    def _change_state(self, state: str) -> None:
        self._intake.record(ev.StateChanged(state))
        self._log.sync()
        self._wake()

    def _wake(self) -> None:
        with suppress(OSError):  # full: the watcher has a wake-up pending; gone: nobody watches
            os.write(WAKE, b".")

    def _write_meta(self, child: Child) -> None:
        with suppress(OSError, ValueError):
            meta = self._dir.read_meta()
            meta["startedAt"] = self._started_wall
            for role, pid in (("supervisor", os.getpid()), ("child", child.pid)):
                identity = identify(pid)
                meta[role] = identity.to_json() if identity else {"pid": pid}
            self._dir.write_meta(meta)

    def _finish(self, ending: Ending) -> None:
        outcome = self._intake.fold.decide(ending)
        self._change_state(outcome.status)
        result = self._result(outcome, ending)
        self._log.close()
        crash_points.reach(crash_points.BEFORE_RESULT)
        self._dir.write_result(result)
        crash_points.reach(crash_points.AFTER_RESULT)
        if not self._spec.attached:
            tell_completion(self._spec.on_complete, self._dir, result)
        self._stop_listening()

    def _stop_listening(self) -> None:
        with suppress(OSError):
            self._dir.control.unlink()

    def _result(self, outcome: Outcome, ending: Ending) -> RunResult:
        fold = self._intake.fold
        duration_ms = round((time.monotonic() - self._started) * 1000)
        return RunResult(
            run_id=self._spec.run_id,
            session_id=self._spec.session_id,
            name=self._spec.name,
            status=outcome.status,
            output=outcome.output,
            error_message=outcome.error_message,
            notes=(*self._spec.notes, *outcome.notes, *self._intake.notes, *self._log.notes()),
            exit_code=ending.exit_code,
            signal_name=ending.signal_name,
            **fold.facts(),
            started_at_ms=self._started_wall,
            finished_at_ms=self._started_wall + duration_ms,
            duration_ms=duration_ms,
            artifacts_truncated=self._log.truncated,
        )


def main() -> int:
    """Serve one specification from standard input."""
    lifeline = LineFramer(MAX_SPEC_BYTES)
    spec, early_commands = read_spec(LIFELINE, lifeline)
    run_dir = RunDir(Path(spec.run_dir))
    lock = take_lock(spec, run_dir)
    if not run_dir.locked_by(lock):
        return 1  # its directory is gone, or another stands in its place
    if run_dir.result.exists() or run_dir.events.exists():
        return 1  # it is over, or another supervisor had it
    crash_points.reach(crash_points.LOCKED)
    os.set_blocking(WAKE, False)
    process_tree.become_subreaper()
    try:
        Supervisor(spec, run_dir, lifeline).run(early_commands)
    except Exception as error:  # noqa: BLE001 - the last line before a run would end untold
        process_tree.kill_tree(None, lambda _: None)
        run_dir.write_result(internal_failure(spec, repr(error)))
        return 3
    finally:
        os.close(lock)
    return 0


def take_lock(spec: RunSpec, run_dir: RunDir) -> int:
    """Return the run's lock, held: handed down by who planned the run, else taken here."""
    if spec.lock_fd is not None:
        os.set_inheritable(spec.lock_fd, False)
        return spec.lock_fd
    lock = os.open(run_dir.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def read_spec(descriptor: int, framer: LineFramer) -> tuple[RunSpec, list[Frame]]:
    """Wait for the specification; commands that came with it are returned too."""
    while True:
        data = os.read(descriptor, READ_SIZE)
        if not data:
            raise ValueError("the control channel ended before the specification")
        frames = framer.feed(data)
        if frames:
            first, *commands = frames
            return spec_from_json(
                json.loads(first.data if isinstance(first, Line) else b"")
            ), commands


def internal_failure(spec: RunSpec, reason: str) -> RunResult:
    """Return the result of a run whose supervisor itself failed."""
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status="failed",
        error_message=messages.supervisor_failed(reason),
        finished_at_ms=now_ms(),
    )


def _read(descriptor: int) -> bytes | None:
    """Return bytes, nothing at the end, None if there is nothing to read yet."""
    try:
        return os.read(descriptor, READ_SIZE)
    except BlockingIOError:
        return None
    except ConnectionResetError:  # the end of a socket whose other side had not read everything
        return b""


if __name__ == "__main__":
    sys.exit(main())
