"""
One run, from its slot to its result: the child is started or taken over, watched, ended or kept.

Ends when the child exits or has nothing left to do, or settled and did not exit in time; or by a
limit, a `stop` or `kill`, a signal, or the end of the lifeline.  Whatever happens, a result is
written.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, Line
from pi_subagents.core.limits.base import Announce, EndRun, TellChild
from pi_subagents.core.limits.ladder import ASK_GRACE_S, Rung, StopLadder
from pi_subagents.core.limits.table import held_limits
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause, Ending
from pi_subagents.core.run.question import QUESTION
from pi_subagents.core.run.spec import ANSWER, HEARD, KILL, NATIVE, NEWS, STEER, STOP
from pi_subagents.store import messages as store_messages
from pi_subagents.store.child_sessions import KeptSession, session_limit
from pi_subagents.store.completion import run_completion_hook
from pi_subagents.store.rescue import put_result
from pi_subagents.store.run_log import RunLog
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.child import Child, send_message, send_prompt, start_child
from pi_subagents.supervisor.control import Control
from pi_subagents.supervisor.intake import Intake, now_ms
from pi_subagents.supervisor.listener import Listener, NonblockingWriter, read_ready
from pi_subagents.supervisor.questions import OpenQuestions, send_answer
from pi_subagents.supervisor.reuse import may_serve_again
from pi_subagents.supervisor.reviews import Reviews
from pi_subagents.supervisor.run_result import RunEnd, run_result
from pi_subagents.supervisor.slots import Slot
from pi_subagents.supervisor.talking import open_talk
from pi_subagents.supervisor.workspace import RunWorkspace
from pi_subagents.system import crash_points, process_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.store.local_order import LocalOrder
    from pi_subagents.supervisor.place import RunPlace

WAKE = 1
_SENT = {STEER: send_message, ANSWER: send_answer}
MAX_SCREEN_BACKLOG = 256 * 1024


class Supervisor:
    """Owns one run from its slot to its result."""

    def __init__(
        self, order: LocalOrder, place: RunPlace, listener: Listener, child: Child | None = None
    ) -> None:
        self._order = order
        self._spec = spec = order.spec
        self._place = place
        self._desk = place.where.desk
        self._listener = listener
        self._child = child  # one that served other runs, where there is one
        screen = NonblockingWriter(order.place.screen_fd, listener.selector, MAX_SCREEN_BACKLOG)
        self._log = RunLog(
            place.dir,
            f"{spec.name} (run {spec.run_id})",
            max_bytes=spec.limits.max_run_bytes,
            show=screen.send,
        )
        self._talk = open_talk(spec, self._desk, listener, self)
        note, wants = OpenQuestions(self._desk, self._on_waiting).note, bool(spec.answer.schema)
        self._intake = Intake(self._log, self._talk, self._on_seen, note, wants_value=wants)
        self._workspace = RunWorkspace(spec, self._intake, listener, self._note_reaped)
        self._reviews = Reviews(spec, self._intake, listener, self._note_reaped)
        self._ladder = StopLadder(
            spec.limits.stop_grace_s, ASK_GRACE_S if self._talk.can_abort else 0.0
        )
        self._cause: Cause | None = None
        self._why = ""  # where the cause alone does not say it
        self._over_at: float | None = None  # since when the child has nothing left to do
        self._talked = False  # the conversation with the child is over
        self._goes_on = False  # in the session that the child has of the run before
        self._kept = False
        self._extended = False  # its time-out is over, and it goes on
        self._outlived = False  # killed and swept, some of it is still there
        self._start_clock()

    def run(self, early_commands: list[Frame]) -> Child | None:
        """Do the whole run; once its result is written, return the child if it was kept."""
        self._listener.on_stop_signal = self._on_stop_signal
        control = Control(self._desk, self._listener, self.obey)
        slot = Slot(self._order.place.slots_dir, self._spec.limits.max_children)
        try:
            waiting = [Line(f"{STEER} {each}".encode()) for each in self._desk.waiting_steers()]
            self.obey([*early_commands, *waiting])
            if slot.acquire(self._serve):
                self._start_clock()
                self._judge(self._started)  # others may have left nothing of a shared budget
            if self._cause:
                self._finish(Ending(cause=self._cause, why=self._why))
                return self._child
            self._change_state("starting")
            self._finish(self._work(self._child))
        finally:
            slot.release()
            control.close()
        if self._child is not None and not self._kept:
            self._child.release_desks()
        return self._child if self._kept else None

    def _work(self, waiting: Child | None) -> Ending:
        """Let the child that waited, or a new one, do what was asked; return how that ended."""
        try:
            if not self._workspace.make(self._is_ending):
                return Ending(cause=self._cause, why=self._why)
            child = waiting or start_child(self._order, self._listener.selector)
        except (OSError, ValueError) as error:
            return Ending(spawn_error=str(error))
        self._child = child
        if self._spec.reuse.keep:
            child.hold(self._desk)
        self._start_clock()
        crash_points.reach(crash_points.CHILD_SPAWNED)
        child.note_in(self._place.dir, self._started_wall)
        self._change_state("running")
        self._watch(child)
        refusal = self._talk.why_nothing(child.exit_code)
        if self._kept:
            return Ending(exit_code=0)
        crash_points.reach(crash_points.CHILD_ENDED)
        self._end_tree(child)
        if waiting and self._talk.unasked and self._cause is None:
            assert waiting.input is not None
            waiting.input.close()
            waiting.release_desks()
            return self._work(None)  # it died while it waited, unnoticed
        return Ending(
            exit_code=child.exit_code,
            signal_name=child.signal_name,
            cause=self._cause,
            why=self._why,
            timeout_s=self._spec.limits.timeout_s,
            refusal=refusal if self._cause is None else "",
            error_tail=self._intake.error_tail,
            advice=self._talk.advice(refusal or self._intake.error_tail),
        )

    def _start_clock(self) -> None:
        """Begin to count: time-outs run from the child's start, not from ours."""
        self._started_wall, self._started = now_ms(), time.monotonic()
        steers, purses = self._talk.can_steer, self._place.purses
        self._limits = held_limits(self._spec.limits, self._started, purses, can_steer=steers)

    def _on_waiting(self, waits: bool) -> None:  # noqa: FBT001 - a callback
        """Let no time-out run while the child waits for somebody."""
        change = self._limits.hold if waits else self._limits.release
        change(QUESTION, time.monotonic())

    # What is listened to

    def _on_stop_signal(self, numbers: bytes) -> None:
        # A background run outlives the terminal it was started from.
        if self._spec.attached or any(number != signal.SIGHUP for number in numbers):
            self.stop(Cause.STOP_REQUESTED)

    def obey_caller(self, commands: list[Frame]) -> None:
        """Carry out commands from the lifeline, and acknowledge them."""
        self.obey(commands)
        if commands:
            self._wake(HEARD)

    def obey(self, commands: list[Frame]) -> None:
        """Carry out commands; their sender may be looking for a directory that is gone."""
        if commands:
            self._place.look(self._log)
        for frame in commands:
            command = frame.data.decode("ascii", "replace") if isinstance(frame, Line) else ""
            name, _, number = command.partition(" ")
            if name in (STOP, KILL):
                self.stop(Cause.STOP_REQUESTED)
            if name == KILL:
                self._ladder.force(time.monotonic())
            if name in _SENT:
                self._intake.record(*_SENT[name](self._talk, self._desk, number))
                self._wake()

    # The child at work

    def _streams(self, child: Child) -> tuple[tuple[int, Callable[[bytes], None]], ...]:
        return (child.stdout, self._intake.output), (child.stderr, self._intake.error_output)

    def _watch(self, child: Child) -> None:
        """Serve the child until it has been reaped, is free for another run, or cannot be ended."""
        for pipe, take in self._streams(child):
            self._listener.add_stream(pipe, partial(self._on_data, take))
        if child.input is not None:  # else it reads its prompt by itself
            self._intake.error_output(child.early_errors)
            child.early_errors = b""
            self._goes_on = send_prompt(self._talk, child, self._spec, self._desk)
        self._check_time(child)  # it may be over before anything is read
        while not (child.ended or self._kept or self._outlived):
            self._serve(self._pause())
            self._note_reaped(process_tree.reap()[0])
            self._check_time(child)
        for pipe, take in self._streams(child):
            self._listener.remove(pipe)
            # Its last output is in the pipe, which holds less than one read takes: journal it
            # before anything else can happen.
            if not self._kept and (data := read_ready(pipe)):
                take(data)

    def send(self, line: bytes) -> None:
        """Give the child a line of its conversation, if it is there to take it."""
        if self._child is not None and self._child.input is not None:
            self._child.input.send(line)

    def _serve(self, seconds: float | None) -> bool:
        """Wait for something to do and do it; return whether the run may still begin."""
        self._listener.serve(seconds)
        return self._cause is None

    def _on_data(self, take: Callable[[bytes], None], data: bytes) -> None:
        known = self._log.records
        take(data)
        if self._log.records > known:  # most of a stream is deltas, which nothing waits for
            self._place.look(self._log)
            self._wake()

    def _on_seen(self, event: ev.Event | None) -> None:
        now = time.monotonic()
        self._limits.saw(event, now)
        # A child that was never given its task, or refused it, has nothing to go on with.
        over = self._intake.fold.settled or (self._talked and self._talk.why_nothing(None))
        self._over_at = (self._over_at or now) if over else None
        if event is not None:
            self._judge(now)

    def _judge(self, now: float) -> None:
        """Apply the verdicts of the limits, unless the run is about to end anyway."""
        if self._over_at is not None or self._ladder.begun:
            return
        for verdict in self._limits.verdicts(now):
            match verdict:
                case EndRun(cause, why):
                    self.stop(cause, why)
                    return
                case Announce(text):
                    self._extended = True
                    self._intake.record(ev.Note(text))
                    self._wake()
                case TellChild(number, text):
                    self._talk.steer(number, text)
                    self._record_news()

    def _record_news(self) -> None:
        if news := self._talk.take_news():
            self._intake.record(*news)
            self._wake()

    def _pause(self) -> float | None:
        deadlines = [self._ladder.deadline()]
        if not self._ladder.begun:
            grace_ends = self._grace_ends()
            limits = None if grace_ends else self._limits.deadline()
            deadlines += [grace_ends, self._talk.deadline(), limits]
        due = [deadline for deadline in deadlines if deadline is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _grace_ends(self) -> float | None:
        return None if self._over_at is None else self._over_at + self._spec.limits.settled_grace_s

    def _check_time(self, child: Child) -> None:
        if child.ended:
            return
        now = time.monotonic()
        self._check_talk(child, now)
        self._judge(now)
        grace_ends = self._grace_ends()
        if grace_ends and now >= grace_ends and not self._ladder.begun and not self._kept:
            self._intake.notes.append(messages.NOTE_FORCED)
            self._begin_ladder(now)
        match self._ladder.due(now):
            case Rung.ASK:
                self._intake.fold.asked_to_stop()
                self._talk.abort()
                self._record_news()
                if self._talk.over:  # its input has ended: it cannot be asked
                    self._ladder.hurry(now)
            case Rung.TERM:
                child.terminate()
            case Rung.KILL:
                self._outlived = not process_tree.kill_tree(child.pid, self._note_reaped)

    def _check_talk(self, child: Child, now: float) -> None:
        """Keep or release the child once the conversation is over."""
        self._talk.check_time(now)
        self._record_news()
        if self._talk.aborted:
            self._ladder.hurry(now)
        if not self._talk.over or self._talked:
            return
        if self._reviews.asks_again(self._talk, self._is_ending):
            self._over_at = None
            self._wake()
            return
        self._talked = True
        if self._may_keep(child):
            self._kept = True
        else:
            self._over_at = self._over_at or now
            if child.input is not None:
                child.input.close()  # it exits by itself

    def _is_ending(self) -> bool:
        return self._cause is not None or self._ladder.begun

    def _may_keep(self, child: Child) -> bool:
        """Return whether the child may serve another run: only if nothing at all went wrong."""
        return (
            self._spec.reuse.keep
            and not self._is_ending()
            and self._intake.flawless
            and may_serve_again(child, self._note_reaped)
        )

    def stop(self, cause: Cause, why: str = "") -> None:
        """Begin to end the run; the first cause is the one that is reported."""
        if self._cause is None and not self._ladder.begun:
            self._cause, self._why = cause, why
        self._begin_ladder(time.monotonic())

    def _begin_ladder(self, now: float) -> None:
        if not self._ladder.begun:
            self._change_state("stopping")
        self._ladder.begin(now)

    def _note_reaped(self, statuses: process_tree.Reaped) -> None:
        if (child := self._child) is not None and child.pid in statuses:
            child.note_exit(statuses[child.pid])

    def _end_tree(self, child: Child) -> None:
        """Leave no process behind, then read what is left in the pipes."""
        gone = not self._outlived and process_tree.kill_tree(child.pid, self._note_reaped)
        if not gone:
            self._intake.notes.append(store_messages.NOTE_PROCESSES_LEFT)
        for pipe, take in self._streams(child):
            while data := read_ready(pipe):
                take(data)
                if not gone:  # what is left may write for ever
                    break
        self._intake.end()

    # What is left behind

    def _change_state(self, state: str) -> None:
        self._intake.record(ev.StateChanged(state))
        self._log.sync()
        self._place.look(self._log)
        self._wake()

    def _wake(self, why: bytes = NEWS) -> None:
        with suppress(OSError):  # full: the watcher has a wake-up pending; gone: there is none
            os.write(WAKE, why)

    def _finish(self, ending: Ending) -> None:
        took_ms = round((time.monotonic() - self._started) * 1000)
        resumed = NATIVE if self._goes_on else self._spec.resume.how
        # Of a session that went on, the child's own account has all of its runs.
        if self._talk.usage is not None and resumed != NATIVE:
            self._intake.fold.count(self._talk.usage)
        outcome = self._reviews.judge(self._intake.fold.decide(ending), self._is_ending)
        self._change_state(outcome.status)
        most = session_limit(self._spec.limits.max_run_bytes)
        kept = self._child.keep_session(self._place.dir, most) if self._child else KeptSession()
        end = RunEnd(
            outcome,
            ending,
            self._started_wall,
            took_ms,
            extended=self._extended,
            resumed=resumed,
            kept=kept,
            changes=self._workspace.end(self._place.dir.path),
            checked=self._reviews.checked,
        )
        crash_points.reach(crash_points.BEFORE_RESULT)
        made = run_result(self._spec, self._intake, self._log, end)
        result = self._place.keep_result(made, self._log)
        self._log.close()
        crash_points.reach(crash_points.AFTER_RESULT)
        put_result(self._order.place.envelope_fd, result)
        if not self._spec.attached:
            where = str(self._place.where.path)
            run_completion_hook(self._spec.on_complete, self._place.dir, result, where)
