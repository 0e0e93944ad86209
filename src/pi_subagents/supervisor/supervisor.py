"""
One run, from its place to its result: the child is started or taken over, watched, ended or kept.

Ends when the child exits or has nothing left to do, or settled and did not exit in time; or by a
limit, a `stop` or `kill`, a signal, or the end of the lifeline.  A child that gave up because its
provider answers no more is followed by another one, once that is over.  Whatever happens, a result
is written.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.framing import Frame, Line
from pi_subagents.core.limits.base import Announce, EndRun, TellChild
from pi_subagents.core.limits.ladder import ASK_GRACE_S, Rung, StopLadder
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Cause, Ending
from pi_subagents.core.run.question import LIMIT
from pi_subagents.core.run.spec import ANSWER, HEARD, KILL, NATIVE, NEWS, STEER, STOP
from pi_subagents.store import messages as store_messages
from pi_subagents.store.child_sessions import KeptSession, session_limit
from pi_subagents.store.run_log import RunLog
from pi_subagents.supervisor import messages
from pi_subagents.supervisor.admission.entering import Admission
from pi_subagents.supervisor.admission.going_on import is_ready_to_go_on
from pi_subagents.supervisor.child import Child, send_message, send_prompt, start_child
from pi_subagents.supervisor.child_streams import ChildStreams
from pi_subagents.supervisor.control import Control
from pi_subagents.supervisor.intake import Intake
from pi_subagents.supervisor.listener import Listener, NonblockingWriter
from pi_subagents.supervisor.questions import Waits, send_answer
from pi_subagents.supervisor.reuse import may_serve_again
from pi_subagents.supervisor.reviews import Reviews
from pi_subagents.supervisor.run_clock import RunClock
from pi_subagents.supervisor.run_result import RunEnd, deliver_result
from pi_subagents.supervisor.talking import open_talk
from pi_subagents.supervisor.workspace import RunWorkspace, WorkspaceRefused
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
        self._begin_talk()
        self._clock = RunClock(spec.limits, place.purses, can_steer=self._talk.can_steer)
        waits = Waits(self._desk, self._clock.on_question)
        self._admission = Admission(order, waits.for_admission, self._record)
        wanted = {"wants_value": bool(spec.answer.schema)}
        self._intake = Intake(self._log, self._talk, self._on_seen, waits.note, **wanted)
        self._workspace = RunWorkspace(spec, self._intake, listener, self._note_reaped)
        self._reviews = Reviews(spec, self._intake, listener, self._note_reaped)
        ask_s = ASK_GRACE_S if self._talk.can_abort else 0.0
        self._ladder = StopLadder(spec.limits.stop_grace_s, ask_s)
        self._cause: Cause | None = None
        self._why = ""  # where the cause alone does not say it
        self._goes_on = False  # in the session that the child has of the run before
        self._kept = False
        self._extended = False  # its time-out is over, and it goes on
        self._outlived = False  # killed and swept, some of it is still there

    def run(self, early_commands: list[Frame]) -> Child | None:
        """Do the whole run; once its result is written, return the child if it was kept."""
        self._listener.on_stop_signal = self._on_stop_signal
        control = Control(self._desk, self._listener, self.obey)
        try:
            waiting = [Line(f"{STEER} {each}".encode()) for each in self._desk.waiting_steers()]
            self.obey([*early_commands, *waiting])
            if self._may_start():
                self._clock.start()
                self._judge(self._clock.started)  # others may have left nothing of a shared budget
            if self._cause:
                self._finish(Ending(cause=self._cause, why=self._why))
                return self._child
            self._change_state("starting")
            ending = self._work(self._child)
            while self._is_to_go_on():
                ending = self._work_after_limit()
            self._finish(ending)
        finally:
            self._admission.leave()
            control.close()
        if self._child is not None and not self._kept:
            self._child.release_desks()
        return self._child if self._kept else None

    def _may_start(self) -> bool:
        """Wait until a child may be started; False where none will be."""
        entered = self._admission.enter(self._serve)
        if self._admission.too_long and self._cause is None:
            self._cause, self._why = Cause.LIMIT, self._admission.too_long
        return entered

    def _record(self, *events: ev.Event) -> None:
        self._intake.record(*events)
        self._wake()

    def _is_to_go_on(self) -> bool:
        """Return whether another child has to go on: one gave up for a limit of its provider."""
        fold, limit = self._intake.fold, self._intake.fold.limited
        if limit is None or self._is_ending() or not (fold.settled or self._talk.over):
            return False
        self._admission.met(limit, gave_up=True)
        has_worked = fold.has_worked or self._goes_on
        return is_ready_to_go_on(self._spec, self._desk, has_worked=has_worked)

    def _work_after_limit(self) -> Ending:
        """Wait until the limit is over, and let another child go on; return how that ended."""
        self._intake.fold.goes_on_after_limit()
        self._admission.leave()
        self._begin_talk()
        self._intake.hear_another(self._talk)
        self._clock.over_at = None
        self._clock.hold(LIMIT, on=True)
        entered = self._may_start()
        self._clock.hold(LIMIT, on=False)
        return self._work(None, again=True) if entered else Ending(cause=self._cause, why=self._why)

    def _begin_talk(self) -> None:
        """Make ready for what is said with a child from its start."""
        self._talk = open_talk(self._spec, self._desk, self._listener, self)
        self._talked = False  # it is over

    def _work(self, waiting: Child | None, *, again: bool = False) -> Ending:
        """Let the child that waited, or a new one, do what was asked; return how that ended."""
        try:
            if not again and not self._workspace.make(self._is_ending):
                return Ending(cause=self._cause, why=self._why)
            child = waiting or start_child(self._order, self._listener.selector, again=again)
        except (OSError, ValueError) as error:
            no_place = isinstance(error, WorkspaceRefused)
            return Ending(spawn_error=str(error), in_workspace=no_place)
        if again and self._child:
            child.desks |= self._child.desks
        self._child = child
        if self._spec.reuse.keep:
            child.hold(self._desk)
        if not again:
            self._clock.start()
        crash_points.reach(crash_points.CHILD_SPAWNED)
        child.note_in(self._place.dir, self._clock.started_ms)
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
                self._record(*_SENT[name](self._talk, self._desk, number))

    # The child at work

    def _watch(self, child: Child) -> None:
        """Serve the child until it has been reaped, is free for another run, or cannot be ended."""
        streams = ChildStreams(child, self._intake)
        streams.listen(self._listener, self._on_data)
        if child.input is not None:  # else it reads its prompt by itself
            self._intake.error_output(child.early_errors)
            child.early_errors = b""
            self._goes_on = send_prompt(self._talk, child, self._spec, self._desk)
        self._check_time(child)  # it may be over before anything is read
        while not (child.ended or self._kept or self._outlived):
            stop_due, stops = self._ladder.deadline(), self._ladder.begun
            self._serve(self._clock.pause(stop_due, self._talk.deadline(), stops=stops))
            self._note_reaped(process_tree.reap()[0])
            self._check_time(child)
        streams.leave(self._listener, kept=self._kept)

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
        self._clock.limits.saw(event, now)
        # A child that was never given its task, or refused it, has nothing to go on with.
        over = self._intake.fold.settled or (self._talked and self._talk.why_nothing(None))
        self._clock.child_is_done(done=bool(over), now=now)
        if isinstance(event, ev.Limited):
            self._admission.met(event, gave_up=False)
        elif isinstance(event, ev.AssistantMessage) and event.stop_reason != "error":
            self._admission.answered()
        if event is not None:
            self._judge(now)

    def _judge(self, now: float) -> None:
        """Apply the verdicts of the limits, unless the run is about to end anyway."""
        if self._clock.over_at is not None or self._ladder.begun:
            return
        for verdict in self._clock.limits.verdicts(now):
            match verdict:
                case EndRun(cause, why):
                    self.stop(cause, why)
                    return
                case Announce(text):
                    self._extended = True
                    self._record(ev.Note(text))
                case TellChild(number, text):
                    self._talk.steer(number, text)
                    self._record_news()

    def _record_news(self) -> None:
        if news := self._talk.take_news():
            self._record(*news)

    def _check_time(self, child: Child) -> None:
        if child.ended:
            return
        now = time.monotonic()
        self._check_talk(child, now)
        self._judge(now)
        grace_ends = self._clock.grace_ends()
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
            self._clock.over_at = None
            self._wake()
            return
        self._talked = True
        if self._may_keep(child):
            self._kept = True
        else:
            self._clock.child_is_done(done=True, now=now)
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
        ChildStreams(child, self._intake).read_rest(all_gone=gone)
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
            self._clock.started_ms,
            self._clock.took_ms,
            extended=self._extended,
            resumed=resumed,
            kept=kept,
            changes=self._workspace.end(self._place.dir.path),
            checked=self._reviews.checked,
            waited=self._admission.note(),
        )
        deliver_result(self._order, self._place, self._intake, self._log, end)
