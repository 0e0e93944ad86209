"""
What every runner of attached runs does: hold the supervisor by its lifeline until the run ended.

In: a run's specification.  Out: its result, whatever becomes of the supervisor.  How one is started
and reached is the subclass's part.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.run_result import RunResult
from pi_subagents.core.run_spec import KILL, STOP, RunSpec
from pi_subagents.core.stop_switch import FORCING, StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.disk import crash_points
from pi_subagents.disk.desk import REFUSED, Desk
from pi_subagents.disk.envelope import make_envelope, take_result
from pi_subagents.disk.rescue import standing
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs.own_thread import in_own_thread
from pi_subagents.procs.recovery import conclude_in_turn, conclude_lost, put_right

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pi_subagents.core.events import Event
    from pi_subagents.core.outcome import Status
    from pi_subagents.procs.attachment import Attachment


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
        run_dir = run_dir_of(spec)
        if run_dir.never_began() and (ended := run_dir.now().read_result()) is not None:
            self._release(spec)
            return ended  # stopped while it waited its turn
        try:
            envelope = make_envelope()
        except OSError as error:
            return self.refuse(spec, messages.SPAWN_FAILED, aborted=False, note=str(error))
        try:
            handed = replace(spec, envelope_fd=envelope)
            told = await self._run_attached(handed, run_dir, on_event, stop)
            if told is None:
                told = take_result(envelope, spec.run_id, spec.session_id)
                result = put_right(run_dir, told) if told else await _found(spec, run_dir)
            else:
                result = told
        finally:
            os.close(envelope)
        crash_points.reach(crash_points.RESULT_READ)
        return result

    async def _run_attached(
        self,
        spec: RunSpec,
        run_dir: RunDir,
        on_event: Callable[[Event], None],
        stop: StopSwitch,
    ) -> RunResult | None:
        """Hold the supervisor until it has ended; return a result only if it never began."""
        try:
            attached = await self._attach(spec, on_event)
        except OSError as error:
            return self.refuse(spec, messages.SPAWN_FAILED, aborted=False, note=str(error))
        except asyncio.CancelledError:
            self.refuse(spec, messages.STOPPED_ON_REQUEST, aborted=True)
            raise
        self._release(spec)  # the supervisor holds it now
        crash_points.reach(crash_points.SUPERVISOR_STARTED)
        leave = stop.listen(lambda level: attached.order(KILL if level >= FORCING else STOP, spec))
        if spec.timeout_s is not None:
            attached.hold_to_time(spec.timeout_s)
        try:
            await _until_done(attached, spec)
        except asyncio.CancelledError:
            attached.close()
            with suppress(OSError):  # nobody waits for what it came to, but it is told
                conclude_lost(run_dir)
            raise
        finally:
            leave()
            attached.close()
        return None

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool, note: str = "") -> RunResult:
        """Record a run that never had a supervisor."""
        self._upcoming.pop(spec.run_id, None)
        run_dir = run_dir_of(spec)
        result = _untold(spec, "aborted" if aborted else "failed", message, note)
        try:
            if not _never_began(run_dir):
                return run_dir.now().read_result() or result
            with suppress(OSError):
                standing(run_dir).write_result(result)
                run_dir.desk.clear_ours()
        finally:
            self._release(spec)
        return result

    def _release(self, spec: RunSpec) -> None:
        """Let go of the run's lock, once: its number may soon be another's."""
        if spec.lock_fd is not None and spec.run_id not in self._released:
            self._released.add(spec.run_id)
            os.close(spec.lock_fd)


def run_dir_of(spec: RunSpec) -> RunDir:
    """Return where a run is kept, as it was planned."""
    return RunDir(Path(spec.run_dir), Desk(Path(spec.desk)))


def _never_began(run_dir: RunDir) -> bool:
    """Tell whether a run is ours to refuse: nobody stopped it, and it has no supervisor."""
    try:
        return run_dir.desk.take_turn(REFUSED)
    except OSError:  # its desk is gone, as at its end, or nothing can be noted there
        return run_dir.now().read_result() is None


async def _until_done(attached: Attachment, spec: RunSpec) -> None:
    """Wait for the supervisor's end; a cancellation stops it, a second one kills."""
    for command in (STOP, KILL):
        try:
            await asyncio.shield(attached.ended)
        except asyncio.CancelledError:
            attached.order(command, spec)
        else:
            if command is STOP:
                return
            break
    await attached.ended
    raise asyncio.CancelledError


async def _found(spec: RunSpec, run_dir: RunDir) -> RunResult:
    """Return the result of a run whose supervisor told us nothing: it is on disk, or was lost."""
    result = run_dir.now().read_result(spec.session_id)
    if result is None:
        with suppress(RuntimeError, OSError):  # no thread, no space: then say it all the same
            result = await in_own_thread("conclude", partial(conclude_in_turn, run_dir))
    return result or _untold(spec, "interrupted", messages.INTERRUPTED, messages.NOTE_NO_SUPERVISOR)


def _untold(spec: RunSpec, status: Status, message: str, note: str) -> RunResult:
    """Return the result of a run that has no supervisor to tell of it."""
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status=status,
        error_message=message,
        notes=(*spec.notes, *([note] if note else ())),
        finished_at_ms=time.time_ns() // 1_000_000,
    )
