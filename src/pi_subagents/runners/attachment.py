"""
One supervisor that a caller holds: what it journals is passed on, and its silence is noticed.

It wakes us with a byte when there is something new in the journal, which is where every event is
read from.  One that gives no sign of life when it is to stop, or when the run's time is up, is
ended with everything below it.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from pi_subagents.core.limits.ladder import ASK_GRACE_S
from pi_subagents.core.run.spec import FREE, KILL, PING, STOP
from pi_subagents.store.desk import STOPPED
from pi_subagents.store.recovery import TIMED_OUT
from pi_subagents.store.tails import JournalTail
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.system.process_tree import SWEEP_LIMIT_S, end_supervisor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.store.run_dir import RunDir
    from pi_subagents.system.identity import Identity

# Records passed on before everything else gets its turn: children may write faster than we can
# read, and even then there is Ctrl+C, a display, and the other children.
AT_ONCE = 16
# How long a supervisor may be silent when it was sent something.
SIGN_LIMIT_S = 5.0
# How much longer than its own limits it may take to end a run.
END_SLACK_S = 10.0
# One whose run's time is up may have good reasons to continue; it is asked again and again.
PING_EVERY_S = PING_LIMIT_S = 30.0


class Attachment(ABC):
    """A supervisor, woken by one descriptor and commanded by another."""

    def __init__(
        self,
        *,
        wake: int,
        commands: int,
        run_dir: RunDir,
        on_event: Callable[[Event], None],
        supervisor: Identity | None = None,
    ) -> None:
        self._wake = wake
        self._commands = commands
        self._desk = run_dir.desk
        self._supervisor = supervisor
        self._tail = JournalTail(run_dir)
        self._news = self._tail.new_entries()
        self._turn: asyncio.Handle | None = None
        self._over = False
        self._silent: asyncio.TimerHandle | None = None  # runs while a sign of life is awaited
        self._timers: list[asyncio.TimerHandle] = []
        self._end: asyncio.Future[None] | None = None  # we are ending it ourselves
        self._closed = False
        self.free = False  # the run is over, and the supervisor waits for another
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(wake, False)
        self._loop.add_reader(wake, self._on_wake)

    @abstractmethod
    def _release(self) -> None:
        """End the lifeline, and wait until the supervisor is gone."""

    def order(self, command: str, spec: RunSpec) -> None:
        """Have the supervisor end its run; if it does not, it is ended itself."""
        self._send(command)
        self._expect_a_sign(SIGN_LIMIT_S, STOPPED)
        ladder_s = {STOP: ASK_GRACE_S + spec.limits.stop_grace_s, KILL: 0.0}[command]
        limit_s = ladder_s + SWEEP_LIMIT_S + END_SLACK_S
        self._timers.append(self._loop.call_later(limit_s, self._end_silent, STOPPED))

    def hold_to_time(self, timeout_s: float) -> None:
        """Check that the supervisor answers when the run's time is up: it is to end the run."""
        self._timers.append(self._loop.call_later(timeout_s + PING_EVERY_S, self._ping, timeout_s))

    def _ping(self, timeout_s: float) -> None:
        self._send(PING)
        self._expect_a_sign(PING_LIMIT_S, f"{TIMED_OUT} {timeout_s:g}")
        self._timers.append(self._loop.call_later(PING_EVERY_S, self._ping, timeout_s))

    def _expect_a_sign(self, limit_s: float, cause: str) -> None:
        if self._silent is None or self._loop.time() + limit_s < self._silent.when():
            self._stop_waiting()
            self._silent = self._loop.call_later(limit_s, self._end_silent, cause)

    def _stop_waiting(self) -> None:
        if self._silent is not None:
            self._silent.cancel()
            self._silent = None

    def _end_silent(self, cause: str) -> None:
        """End the supervisor and what is below it; its end comes as news, like every other."""
        if self._end is None and self._supervisor is not None:
            work = partial(self._end_now, self._supervisor, cause)
            self._end = asyncio.ensure_future(in_own_thread("end supervisor", work))

    def _end_now(self, supervisor: Identity, cause: str) -> None:
        self._desk.note_cause(cause)  # first: the process that concludes the run reads it
        end_supervisor(supervisor)

    def _send(self, command: str) -> None:
        """Give the supervisor a command, if it still listens."""
        with suppress(OSError):
            os.write(self._commands, command.encode("ascii") + b"\n")

    def close(self) -> None:
        """Release the supervisor: the lifeline ends here; a second call changes nothing."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._wake)
        self._stop_waiting()
        for timer in self._timers:
            timer.cancel()
        if self._turn is not None:
            self._turn.cancel()
        self._tail.close()
        self._release()

    def _on_wake(self) -> None:
        try:
            data = os.read(self._wake, 64 * 1024)
        except BlockingIOError:
            return
        except ConnectionResetError:  # it died with a command unread
            data = b""
        self._stop_waiting()
        self.free = bool(data) and (self.free or FREE in data)
        self._over = self.free or not data
        if self._turn is None:  # else one is coming, and finds what is new
            self._take_turn()

    def _take_turn(self) -> None:
        """Pass on some of what is new; if that was not all, others come first, then the rest."""
        self._turn = None
        passed_on = 0
        with suppress(OSError):  # without the journal the result still has the end
            for passed_on, entry in enumerate(islice(self._news, AT_ONCE), start=1):  # noqa: B007 - counted
                self._on_event(entry.event)
        if passed_on == AT_ONCE:
            self._turn = self._loop.call_soon(self._take_turn)
            return
        self._news = self._tail.new_entries()
        if self._over and not self.ended.done():
            self._loop.remove_reader(self._wake)
            self.ended.set_result(None)
