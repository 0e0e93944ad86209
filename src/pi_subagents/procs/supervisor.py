"""
One run, from its slot to its result: the child is started or taken over, watched, ended or kept.

Ends when: the child exits or has said everything; it settled and did not exit in time; a guard, a
`stop` or `kill`, a signal, or the end of the lifeline says so.  Whatever happens, a result is
written.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core import events as ev
from pi_subagents.core.framing import Frame, Line
from pi_subagents.core.guards import ASK_GRACE_S, Rung, StopLadder, TimeoutGuard
from pi_subagents.core.outcome import Cause, Ending, Outcome
from pi_subagents.core.rpc_talk import RpcTalk
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.run_spec import HEARD, KILL, NEWS, RPC_MODE, STEER, STOP, RunSpec
from pi_subagents.disk import crash_points
from pi_subagents.disk.envelope import put_result
from pi_subagents.disk.run_dir import read_asked
from pi_subagents.disk.run_log import RunLog
from pi_subagents.procs import process_tree
from pi_subagents.procs.child import Child, note_child, start_child
from pi_subagents.procs.child_files import bring_session, leave_desks, may_use
from pi_subagents.procs.completion_hook import tell_completion
from pi_subagents.procs.control import Control
from pi_subagents.procs.intake import Intake, now_ms
from pi_subagents.procs.listener import Listener, read_ready
from pi_subagents.procs.reuse import may_serve_again, note_own_processes
from pi_subagents.procs.screen import Screen
from pi_subagents.procs.slots import Slot
from pi_subagents.procs.steering import ask_to_wrap_up, early_messages, pass_on, wrap_up_moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.procs.place import Place

WAKE = 1


class Supervisor:
    """Owns one run from its slot to its result."""

    def __init__(
        self, spec: RunSpec, place: Place, listener: Listener, child: Child | None = None
    ) -> None:
        self._spec = spec
        self._place = place
        self._desk = place.where.desk
        self._listener = listener
        self._child = child  # one that served other runs, where there is one
        self._log = RunLog(
            place.dir,
            f"{spec.name} (run {spec.run_id})",
            max_bytes=spec.max_run_bytes,
            show=Screen(spec.screen_fd, listener.selector).show,
        )
        self._talk = RpcTalk(spec.run_id, self._tell_child) if spec.mode == RPC_MODE else None
        self._intake = Intake(
            self._log,
            looping_tool_count=spec.looping_tool_count,
            on_activity=self._on_activity,
            on_loop=lambda: self.stop(Cause.LOOPING),
            talk=self._talk,
        )
        self._ladder = StopLadder(spec.stop_grace_s, ASK_GRACE_S if self._talk else 0.0)
        self._cause: Cause | None = None
        self._over_at: float | None = None  # since when the child has nothing left to do
        self._talked = False  # everything that was to be said to the child was said
        self._counts = True  # whether the child's account of its session is one of this run
        self._kept = False
        self._outlived = False  # killed and swept, some of it is still there
        self._start_clock()

    def run(self, early_commands: list[Frame]) -> Child | None:
        """Do the whole run; once its result is written, return the child if it was kept."""
        self._listener.on_stop_signal = self._on_stop_signal
        control = Control(self._desk, self._listener, self.obey)
        slot = Slot(self._spec.slots_dir, self._spec.max_children)
        try:
            self.obey([*early_commands, *early_messages(self._desk)])
            if not slot.wait(self._serve):
                self._finish(Ending(cause=self._cause))
                return self._child
            self._change_state("starting")
            self._finish(self._work(self._child))
        finally:
            slot.leave()
            control.close()
        if self._kept:
            return self._child
        if self._child is not None:
            leave_desks(self._child)
        return None

    def _work(self, waiting: Child | None) -> Ending:
        """Let the child that waited, or a new one, do what was asked; return how that ended."""
        try:
            child = waiting or start_child(self._spec, self._listener.selector)
        except (OSError, ValueError) as error:
            return Ending(spawn_error=str(error))
        self._child = child
        if self._spec.keep:
            may_use(child, self._desk)
        self._start_clock()
        crash_points.reach(crash_points.CHILD_SPAWNED)
        note_child(self._place.dir, child, self._started_wall)
        self._change_state("running")
        self._watch(child)
        refusal = self._talk.why_nothing(child.exit_code) if self._talk else ""
        if self._kept:
            return Ending(exit_code=0)
        crash_points.reach(crash_points.CHILD_ENDED)
        self._end_tree(child)
        if waiting and self._talk and self._talk.unasked and self._cause is None:
            assert waiting.input is not None
            waiting.input.close()
            leave_desks(waiting)
            return self._work(None)  # it died while it waited, and nobody knew yet
        return Ending(
            exit_code=child.exit_code,
            signal_name=child.signal_name,
            cause=self._cause,
            timeout_s=self._spec.timeout_s,
            refusal=refusal if self._cause is None else "",
            error_tail=self._intake.error_tail,
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
        self._wrap_up_at = wrap_up_moment(self._spec, self._started)

    # What is listened to

    def _on_stop_signal(self, numbers: bytes) -> None:
        # A background run outlives the terminal it was started from.
        if self._spec.attached or any(number != signal.SIGHUP for number in numbers):
            self.stop(Cause.STOP_REQUESTED)

    def obey_caller(self, commands: list[Frame]) -> None:
        """Do as whoever holds the lifeline says, and let him know that we heard."""
        self.obey(commands)
        if commands:
            self._wake(HEARD)

    def obey(self, commands: list[Frame]) -> None:
        """Do as somebody says, whoever it is; he may be looking for a directory that is gone."""
        if commands:
            self._place.look(self._log)
        for frame in commands:
            command = frame.data.decode("ascii", "replace") if isinstance(frame, Line) else ""
            name, _, number = command.partition(" ")
            if name in (STOP, KILL):
                self.stop(Cause.STOP_REQUESTED)
            if name == KILL:
                self._ladder.force(time.monotonic())
            if name == STEER:
                self._intake.record_all(pass_on(self._talk, self._desk, number))
                self._wake()

    # The child at work

    def _streams(self, child: Child) -> tuple[tuple[int, Callable[[bytes], None]], ...]:
        return (
            (child.stdout.fileno(), self._intake.output),
            (child.stderr.fileno(), self._intake.error_output),
        )

    def _watch(self, child: Child) -> None:
        """Serve the child until it has been reaped, is free for another run, or cannot be ended."""
        for pipe, take in self._streams(child):
            self._listener.hear(pipe, self._reader(pipe, take))
        if self._talk is not None:
            self._begin_talk(child, self._talk)
            self._check_time(child)  # it may be over before anything is heard
        while not (child.ended or self._kept or self._outlived):
            self._serve(self._pause())
            self._note_reaped(process_tree.reap()[0])
            self._check_time(child)
        for pipe, take in self._streams(child):
            self._listener.forget(pipe)
            # Its last words are in the pipe, which holds less than one read takes: journal them
            # before anything else can happen.
            if not self._kept and (data := read_ready(pipe)):
                take(data)

    def _begin_talk(self, child: Child, talk: RpcTalk) -> None:
        """Say the prompt: in the session that the child still has, else in one of its own."""
        self._intake.error_output(child.early_errors)
        child.early_errors = b""
        continues = child.last_run != "" and child.last_run == self._spec.follows
        session = (self._spec.keeps_session or child.runs > 0) and not continues
        desk = self._desk
        asked = desk.task if continues else desk.prompt
        self._counts = not continues
        child.runs += 1
        child.last_run = self._spec.run_id
        try:
            prompt = read_asked(asked)
            if session:
                desk.make_child_session()
                child.session = desk.child_session
        except OSError as error:
            talk.refuse(str(error))
            return
        # A child to be kept is known as a whole before it begins: what it starts then is the run's.
        greets = self._spec.keep and not child.own_processes
        talk.begin(
            prompt,
            session=str(desk.child_session) if session else None,
            on_ready=(lambda: note_own_processes(child)) if greets else None,
            is_up=child.runs > 1,
        )

    def _tell_child(self, line: bytes) -> None:
        if self._child is not None and self._child.input is not None:
            self._child.input.send(line)

    def _serve(self, seconds: float | None) -> bool:
        """Wait for something to do and do it; tell whether the run may still begin."""
        self._listener.serve(seconds)
        return self._cause is None

    def _reader(self, pipe: int, take: Callable[[bytes], None]) -> Callable[[], None]:
        def on_readable() -> None:
            data = read_ready(pipe)
            if data:
                known = self._log.records
                take(data)
                if self._log.records > known:  # most of a stream is deltas, which nobody waits for
                    self._place.look(self._log)
                    self._wake()
            elif data is not None:
                self._listener.forget(pipe)

        return on_readable

    def _on_activity(self) -> None:
        now = time.monotonic()
        self._timeout.saw_event(now)
        self._over_at = (self._over_at or now) if self._intake.fold.settled else None

    def _pause(self) -> float | None:
        deadlines = [self._ladder.deadline()]
        if not self._ladder.begun:
            deadlines += [self._grace_ends() or self._timeout.deadline(), self._wrap_up_at]
            deadlines.append(self._talk.deadline() if self._talk else None)
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _grace_ends(self) -> float | None:
        return None if self._over_at is None else self._over_at + self._spec.settled_grace_s

    def _check_time(self, child: Child) -> None:
        if child.ended:
            return
        now = time.monotonic()
        if self._talk is not None:
            self._check_talk(child, self._talk, now)
        grace_ends = self._grace_ends()
        if grace_ends is None:
            if self._timeout.expired(now):
                self.stop(Cause.TIMED_OUT)
        elif now >= grace_ends and not self._ladder.begun and not self._kept:
            self._intake.notes.append(messages.NOTE_FORCED)
            self._begin_ladder(now)
        match self._ladder.due(now):
            case Rung.ASK:
                self._ask_to_stop(now)
            case Rung.TERM:
                child.terminate()
            case Rung.KILL:
                self._outlived = not process_tree.kill_tree(child.pid, self._note_reaped)

    def _check_talk(self, child: Child, talk: RpcTalk, now: float) -> None:
        """Go by how far the conversation is: the child is told to finish, kept, or let go."""
        talk.check_time(now)
        if self._wrap_up_at is not None and now >= self._wrap_up_at:
            self._wrap_up_at = None
            self._intake.record_all(ask_to_wrap_up(talk))
        if talk.aborted:
            self._ladder.hurry(now)
        if not talk.over or self._talked:
            return
        self._talked = True
        if self._may_keep(child):
            self._kept = True
        else:
            self._over_at = self._over_at or now
            assert child.input is not None
            child.input.close()  # it exits by itself

    def _may_keep(self, child: Child) -> bool:
        """Tell whether the child may serve another run: only if nothing at all was amiss."""
        return (
            self._spec.keep
            and self._cause is None
            and not self._ladder.begun
            and self._intake.flawless
            and may_serve_again(child, self._note_reaped)
        )

    def _ask_to_stop(self, now: float) -> None:
        self._intake.fold.asked_to_stop()
        if self._talk is not None:
            self._talk.abort()
            if self._talk.over:  # its input has ended: it cannot hear us
                self._ladder.hurry(now)

    def stop(self, cause: Cause) -> None:
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
        gone = not self._outlived and process_tree.kill_tree(child.pid, self._note_reaped)
        if not gone:
            self._intake.notes.append(messages.NOTE_PROCESSES_LEFT)
        for pipe, take in self._streams(child):
            while data := read_ready(pipe):
                take(data)
                if not gone:  # whoever is left may write for ever
                    break
        self._intake.end()

    # What is left behind

    def _change_state(self, state: str) -> None:
        self._intake.record(ev.StateChanged(state))
        self._log.sync()
        self._place.look(self._log)
        self._wake()

    def _wake(self, why: bytes = NEWS) -> None:
        with suppress(OSError):  # full: the watcher has a wake-up pending; gone: nobody watches
            os.write(WAKE, why)

    def _finish(self, ending: Ending) -> None:
        if self._talk is not None and self._talk.usage is not None and self._counts:
            self._intake.fold.count(self._talk.usage)
        outcome = self._intake.fold.decide(ending)
        self._change_state(outcome.status)
        bring_session(self._child, self._place.dir)
        crash_points.reach(crash_points.BEFORE_RESULT)
        result = self._place.keep_result(self._result(outcome, ending), self._log)
        self._log.close()
        crash_points.reach(crash_points.AFTER_RESULT)
        put_result(self._spec.envelope_fd, result)
        if not self._spec.attached:
            where = str(self._place.where.path)
            tell_completion(self._spec.on_complete, self._place.dir, result, where)

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
