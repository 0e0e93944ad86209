"""
What every runner of attached runs does: hold the supervisor by its lifeline, tell what it journals.

In: a run's specification.  Out: its result, whatever becomes of the supervisor.  How one is started
and reached is the subclass's part; it wakes us with a byte when there is something new in the
journal, which is where every event is read from.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.run_spec import FREE, KILL, STOP, RunSpec
from pi_subagents.core.stop_switch import FORCING, StopSwitch
from pi_subagents.disk import crash_points
from pi_subagents.disk.journal_tail import JournalTail
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.procs.recovery import conclude_lost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pi_subagents.core.events import Event
    from pi_subagents.core.outcome import Status

# Records told before everything else gets its turn: children may write faster than we can read,
# and even then there is Ctrl+C, a display, and the other children.
AT_ONCE = 16
# How long whoever has the lock of a lost run is waited for: ending strays may take five seconds.
TURN_LIMIT_S = 10.0
_TURN_PAUSE_S = 0.01


class AttachedRunner(ABC):
    """A runner for foreground runs; children inherit `env`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = dict(env)
        self._released: set[str] = set()
        self._upcoming: dict[str, RunSpec] = {}

    def expect(self, specs: Iterable[RunSpec]) -> None:
        """Hear of all runs that are to come, in their order, before the first of them."""
        self._upcoming = {spec.run_id: spec for spec in specs}

    @abstractmethod
    async def settle(self) -> None:
        """Leave nothing behind that no other call can use; there are no more runs to come."""

    @abstractmethod
    async def _attach(self, spec: RunSpec, on_event: Callable[[Event], None]) -> Attachment:
        """Start the supervisor of a run and take hold of it; OSError if it cannot be started."""

    async def run(
        self, spec: RunSpec, on_event: Callable[[Event], None], stop: StopSwitch
    ) -> RunResult:
        """Execute one run; on cancellation end it first, then pass the cancellation on."""
        self._upcoming.pop(spec.run_id, None)
        run_dir = RunDir(Path(spec.run_dir))
        if (ended := run_dir.read_result()) is not None:  # stopped while it waited its turn
            self._release(spec)
            return ended
        try:
            attached = await self._attach(spec, on_event)
        except OSError as error:
            return self.refuse(spec, messages.SPAWN_FAILED, aborted=False, note=str(error))
        except asyncio.CancelledError:
            self.refuse(spec, messages.STOPPED_ON_REQUEST, aborted=True)
            raise
        self._release(spec)  # the supervisor holds it now
        crash_points.reach(crash_points.SUPERVISOR_STARTED)
        leave = stop.listen(lambda level: attached.send(KILL if level >= FORCING else STOP))
        try:
            await _until_done(attached)
        finally:
            leave()
            attached.close()
        result = run_dir.read_result() or await _result_of_lost(spec, run_dir)
        crash_points.reach(crash_points.RESULT_READ)
        return result

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool, note: str = "") -> RunResult:
        """Record a run that never had a supervisor."""
        self._upcoming.pop(spec.run_id, None)
        try:
            return _conclude(spec, "aborted" if aborted else "failed", message, note)
        finally:
            self._release(spec)

    def _release(self, spec: RunSpec) -> None:
        """Let go of the run's lock, once: its number may soon be another's."""
        if spec.lock_fd is not None and spec.run_id not in self._released:
            self._released.add(spec.run_id)
            os.close(spec.lock_fd)


class Attachment(ABC):
    """One supervisor we hold: it is woken by one descriptor and commanded by another."""

    def __init__(
        self, *, wake: int, commands: int, run_dir: RunDir, on_event: Callable[[Event], None]
    ) -> None:
        self._wake = wake
        self._commands = commands
        self._tail = JournalTail(run_dir.events)
        self._news = self._tail.new_entries()
        self._turn: asyncio.Handle | None = None
        self._over = False
        self.free = False  # the run is over, and the supervisor waits for another
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(wake, False)
        self._loop.add_reader(wake, self._on_wake)

    @abstractmethod
    def _let_go(self) -> None:
        """End the lifeline, and wait until the supervisor is gone."""

    def send(self, command: str) -> None:
        """Give the supervisor a command, if it still listens."""
        with suppress(OSError):
            os.write(self._commands, command.encode("ascii") + b"\n")

    def close(self) -> None:
        """Let go: the lifeline ends here."""
        self._loop.remove_reader(self._wake)
        if self._turn is not None:
            self._turn.cancel()
        self._tail.close()
        self._let_go()

    def _on_wake(self) -> None:
        try:
            data = os.read(self._wake, 64 * 1024)
        except BlockingIOError:
            return
        except ConnectionResetError:  # it died with a command unread
            data = b""
        self.free = bool(data) and (self.free or FREE in data)
        self._over = self.free or not data
        if self._turn is None:  # else one is coming, and finds what is new
            self._take_turn()

    def _take_turn(self) -> None:
        """Tell some of what is new; if that was not all, others come first, then the rest."""
        self._turn = None
        told = 0
        with suppress(OSError):  # without the journal the result still tells the end
            for told, entry in enumerate(islice(self._news, AT_ONCE), start=1):  # noqa: B007 - counted
                self._on_event(entry.event)
        if told == AT_ONCE:
            self._turn = self._loop.call_soon(self._take_turn)
            return
        self._news = self._tail.new_entries()
        if self._over and not self.ended.done():
            self._loop.remove_reader(self._wake)
            self.ended.set_result(None)


async def _until_done(attached: Attachment) -> None:
    """Wait for the supervisor's end; a cancellation stops it, a second one kills."""
    for command in (STOP, KILL):
        try:
            await asyncio.shield(attached.ended)
        except asyncio.CancelledError:
            attached.send(command)
        else:
            if command is STOP:
                return
            break
    await attached.ended
    raise asyncio.CancelledError


async def _result_of_lost(spec: RunSpec, run_dir: RunDir) -> RunResult:
    """Conclude a run whose supervisor went without a word."""
    result = None
    with suppress(RuntimeError, OSError):  # no thread, no space: then say it all the same
        result = await in_own_thread("conclude", partial(_conclude_in_turn, run_dir))
    return result or _conclude(
        spec, "interrupted", messages.INTERRUPTED, messages.NOTE_NO_SUPERVISOR
    )


def _conclude_in_turn(run_dir: RunDir) -> RunResult | None:
    """Conclude a lost run; whoever has its lock, to do the same or just to look, comes first."""
    # Asked again and again, since a wait for the lock would have no end if its holder has none.
    deadline = time.monotonic() + TURN_LIMIT_S
    while (result := conclude_lost(run_dir)) is None and _may_be_held(run_dir):
        if time.monotonic() >= deadline:
            break
        time.sleep(_TURN_PAUSE_S)
    return result


def _may_be_held(run_dir: RunDir) -> bool:
    """Tell whether it can only be somebody else's turn that a run was not concluded."""
    return run_dir.lock.is_file() and not run_dir.redirected() and not run_dir.result.exists()


def _conclude(spec: RunSpec, status: Status, message: str, note: str) -> RunResult:
    """Write the result of a run that has no supervisor to do so."""
    run_dir = RunDir(Path(spec.run_dir))
    result = RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status=status,
        error_message=message,
        notes=(*spec.notes, *([note] if note else ())),
        finished_at_ms=time.time_ns() // 1_000_000,
    )
    with suppress(OSError):
        if not run_dir.write_result(result):
            return run_dir.read_result() or result
    return result
