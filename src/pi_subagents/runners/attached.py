"""
What every runner of this machine does: hold a supervisor by its lifeline until the run ended.

In: a run's order.  Out: its result, whatever becomes of the supervisor.  How one is started and
reached is the subclass's part; one that outlives its caller is started the same way by all.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run.spec import KILL, STOP, RunSpec
from pi_subagents.core.stop_switch import FORCING, StopSwitch
from pi_subagents.runners import messages
from pi_subagents.runners.planned import PlannedRuns, without_supervisor
from pi_subagents.runners.supervisor_start import start_detached
from pi_subagents.store.local_order import LocalOrder, altered
from pi_subagents.store.recovery import conclude_in_turn, conclude_lost, restore_result
from pi_subagents.store.rescue import make_envelope, take_result
from pi_subagents.system import crash_points
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.runners.attachment import Attachment
    from pi_subagents.store.run_dir import RunDir


class LocalRunner(PlannedRuns, ABC):
    """A runner of this machine; children inherit the environment of their call."""

    @abstractmethod
    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Prepare for runs that may come, where that helps."""

    @abstractmethod
    async def settle(self) -> None:
        """Leave nothing behind that no other call can use; there are no more runs to come."""

    @abstractmethod
    async def _attach(self, order: LocalOrder, on_event: Callable[[Event], None]) -> Attachment:
        """Start the supervisor of a run and hold it; OSError if it cannot be started."""

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
            return self.refuse(spec, core_messages.SPAWN_FAILED, aborted=False, note=str(error))
        try:
            handed = altered(self._held.placed(spec), envelope_fd=envelope)
            result = await self._run_attached(handed, run_dir, on_event, stop)
            if result is None:
                sent = take_result(envelope, spec.run_id, spec.session_id)
                result = restore_result(run_dir, sent) if sent else await find_result(spec, run_dir)
        finally:
            os.close(envelope)
        crash_points.reach(crash_points.RESULT_READ)
        return result

    async def _run_attached(
        self,
        order: LocalOrder,
        run_dir: RunDir,
        on_event: Callable[[Event], None],
        stop: StopSwitch,
    ) -> RunResult | None:
        """Hold the supervisor until it has ended; return a result only if it never began."""
        spec = order.spec
        try:
            attached = await self._attach(order, on_event)
        except OSError as error:
            return self.refuse(spec, core_messages.SPAWN_FAILED, aborted=False, note=str(error))
        except asyncio.CancelledError:
            self.refuse(spec, core_messages.STOPPED_ON_REQUEST, aborted=True)
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
            with suppress(OSError):  # nothing waits for its result, but it gets one
                conclude_lost(run_dir)
            raise
        finally:
            leave()
            attached.close()
        return None

    def start(self, spec: RunSpec) -> RunResult | None:
        """Start a supervisor without a caller; return a result only if that fails."""
        try:
            start_detached(self._held.placed(spec), self._env)
        except OSError as error:
            return self.refuse(spec, core_messages.SPAWN_FAILED, aborted=False, note=str(error))
        self._held.release(spec.run_id)  # the supervisor holds it now
        return None


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


async def find_result(spec: RunSpec, run_dir: RunDir) -> RunResult:
    """Return the result of a run whose supervisor handed none over: it is on disk, or was lost."""
    result = run_dir.now().read_result(spec.session_id)
    if result is None:
        with suppress(RuntimeError, OSError):  # no thread, no space: then return it all the same
            result = await in_own_thread("conclude", partial(conclude_in_turn, run_dir))
    return result or without_supervisor(
        spec, "interrupted", core_messages.INTERRUPTED, messages.NOTE_NO_SUPERVISOR
    )
