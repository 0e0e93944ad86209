"""
What every runner of this machine does: hold a supervisor by its lifeline until the run ended.

In: a run's order.  Out: its result, whatever becomes of the supervisor.  How one is started and
reached is the subclass's part; one that outlives its caller is started the same way by all.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.run.spec import KILL, STOP, RunSpec, changed
from pi_subagents.core.stop_switch import FORCING, StopSwitch
from pi_subagents.runners import messages
from pi_subagents.runners.detached import start_detached
from pi_subagents.store.desk import REFUSED
from pi_subagents.store.envelope import make_envelope, take_result
from pi_subagents.store.recovery import conclude_in_turn, conclude_lost, put_right
from pi_subagents.store.rescue import standing
from pi_subagents.system import crash_points
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.outcome import Status
    from pi_subagents.runners.attachment import Attachment
    from pi_subagents.runners.table import RunnerPlace
    from pi_subagents.store.run_dir import RunDir


class LocalRunner(ABC):
    """A runner of this machine; children inherit the environment of their call."""

    def __init__(self, place: RunnerPlace) -> None:
        self._env = dict(place.env)
        self._held = place.held
        self._upcoming: dict[str, RunSpec] = {}

    @abstractmethod
    def prewarm(self, specs: Iterable[RunSpec]) -> None:
        """Make ready for runs that may come, where that helps."""

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
        run_dir = self._held.run_dir(spec.run_id)
        if run_dir.never_began() and (ended := run_dir.now().read_result()) is not None:
            self._held.release(spec.run_id)
            return ended  # stopped while it waited its turn
        try:
            envelope = make_envelope()
        except OSError as error:
            return self.refuse(spec, run_messages.SPAWN_FAILED, aborted=False, note=str(error))
        try:
            handed = changed(self._held.placed(spec), envelope_fd=envelope)
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
            return self.refuse(spec, run_messages.SPAWN_FAILED, aborted=False, note=str(error))
        except asyncio.CancelledError:
            self.refuse(spec, run_messages.STOPPED_ON_REQUEST, aborted=True)
            raise
        self._held.release(spec.run_id)  # the supervisor holds it now
        crash_points.reach(crash_points.SUPERVISOR_STARTED)
        leave = stop.listen(lambda level: attached.order(KILL if level >= FORCING else STOP, spec))
        if spec.limits.timeout_s is not None:
            attached.hold_to_time(spec.limits.timeout_s)
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

    def start(self, spec: RunSpec) -> RunResult | None:
        """Start a supervisor that belongs to nobody; return a result only if there is none."""
        try:
            start_detached(self._held.placed(spec), self._env)
        except OSError as error:
            return self.refuse(spec, run_messages.SPAWN_FAILED, aborted=False, note=str(error))
        self._held.release(spec.run_id)  # the supervisor holds it now
        return None

    def refuse(self, spec: RunSpec, message: str, *, aborted: bool, note: str = "") -> RunResult:
        """Record a run that never had a supervisor."""
        self._upcoming.pop(spec.run_id, None)
        run_dir = self._held.run_dir(spec.run_id)
        result = _untold(spec, "aborted" if aborted else "failed", message, note)
        try:
            if not _never_began(run_dir):
                return run_dir.now().read_result() or result
            with suppress(OSError):
                standing(run_dir).write_result(result)
                run_dir.desk.clear_ours()
        finally:
            self._held.release(spec.run_id)
        return result


def _never_began(run_dir: RunDir) -> bool:
    """Return whether a run is ours to refuse: nobody stopped it, and it has no supervisor."""
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
    return result or _untold(
        spec, "interrupted", core_messages.INTERRUPTED, messages.NOTE_NO_SUPERVISOR
    )


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
