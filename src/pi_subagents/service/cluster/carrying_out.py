"""
Carry out one run that a worker has claimed: receive, plan, begin, run, publish, finish.

In: a claim.  Out: its one result in the database, whatever happens, unless the attempt counts no
more: then the child is ended and what it did stays here.  No error leaves this but cancellation.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.cluster.worker import begin, finish, give_back, refuse
from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.order_json import order_from_bytes
from pi_subagents.core.run.result import RunResult, result_to_json
from pi_subagents.core.runner_names import PROCESS
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.core.value import replace
from pi_subagents.errors import OrderRefused, SubagentsError
from pi_subagents.errors.cluster import AttemptOver
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.publishing import Publisher
from pi_subagents.service.foreground import runner_of
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.system.safe_io import to_json_bytes

if TYPE_CHECKING:
    from collections.abc import Container

    from pi_subagents.cluster.link import Link
    from pi_subagents.cluster.worker import ClaimedRun
    from pi_subagents.core.cluster.order import TravelOrder
    from pi_subagents.service.cluster.receiving import Receiver
    from pi_subagents.service.cluster.replanning import Replanned, Replanner
    from pi_subagents.store.desk import Desk

MAX_RESULT_BYTES = 15 * 1024 * 1024


class AtWork:
    """A run that this worker has claimed."""

    def __init__(self, own: ClaimedRun) -> None:
        self.own = own
        self.switch = StopSwitch()
        self.desk: Desk | None = None  # once it is planned
        self.lost = False  # it is not ours any more
        self._cut_off = ""

    def lose(self) -> None:
        """End the child: whatever it does counts no more."""
        self.lost = True
        self.switch.force()

    def cut_off(self, why: str) -> None:
        """End the child for a reason of the worker's own."""
        self._cut_off = self._cut_off or why
        self.switch.force()

    def on_published(self, publishing: asyncio.Task[None]) -> None:
        """End the child where nobody can hear of it any more."""
        error = None if publishing.cancelled() else publishing.exception()
        if isinstance(error, AttemptOver):
            self.lose()
        elif error is not None:
            self.cut_off(str(error))

    @property
    def is_cut_off(self) -> bool:
        """Return whether the worker wants it to end."""
        return bool(self._cut_off)

    def as_it_ended(self, result: RunResult) -> RunResult:
        """Return the result, with the reason where it was the worker that ended the child."""
        if not self._cut_off or result.status == "completed":
            return result
        return replace(result, status="interrupted", error_message=self._cut_off)


class CarryingOut:
    """What carries out all runs of a worker."""

    def __init__(
        self, link: Link, receiver: Receiver, replanner: Replanner, trusts: Container[str] | None
    ) -> None:
        self._link, self._receiver, self._replanner = link, receiver, replanner
        self._trusts = trusts

    async def carry_out(self, run: AtWork) -> RunResult | None:
        """Return how a run ended; None where it is not ours any more."""
        try:
            return await self._finished(run)
        except AttemptOver:
            run.lose()
        return None

    async def _finished(self, run: AtWork) -> RunResult:
        own = run.own
        try:
            result = run.as_it_ended(await self._ended(run))
        except OrderRefused as refused:
            result = _failed(own, str(refused))
            await refuse(self._link, own, str(refused), _as_bytes(result))
            return result
        except AttemptOver:
            raise
        except (SubagentsError, OSError) as error:
            result = run.as_it_ended(_failed(own, str(error)))
        except Exception as error:  # noqa: BLE001 - a fault in one run must not end the others
            result = _failed(own, core_messages.internal_error(error))
        if run.lost:
            raise AttemptOver(messages.run_lost(own.run_id))
        await finish(self._link, own, _as_bytes(result))
        return result

    async def _ended(self, run: AtWork) -> RunResult:
        order = self._order(run.own)
        received = await self._receiver.receive(order)
        with ExitStack() as resources:
            work = partial(self._replanner.replan, order, received, run.own.call_id, resources)
            planned = await in_own_thread("plan", work)
            try:
                await self._begin(run)
                run.desk = planned.context.held.run_dir(order.run_id).desk
            except BaseException:
                planned.context.held.discard([order.run_id])
                raise
            return await self._run(run, planned)

    async def _begin(self, run: AtWork) -> None:
        """Say that the prompt is about to be given; where the worker ends, others may do it."""
        if run.is_cut_off:
            await give_back(self._link, run.own)
            raise AttemptOver(messages.run_lost(run.own.run_id))
        await begin(self._link, run.own)

    def _order(self, own: ClaimedRun) -> TravelOrder:
        """Return what is to be done, if it is for this worker to do."""
        if self._trusts is not None and own.submitter not in self._trusts:
            raise OrderRefused("order", messages.not_trusted(own.submitter))
        order = order_from_bytes(own.order)
        if (order.run_id, order.session_id) != (own.run_id, own.session_id):
            raise OrderRefused("order", messages.OTHER_RUN)
        return order

    async def _run(self, run: AtWork, planned: Replanned) -> RunResult:
        spec, context = planned.run.spec, planned.context
        runner = runner_of(context, PROCESS)
        publisher = Publisher(self._link, run.own, context.held.run_dir(spec.run_id))
        publishing = asyncio.create_task(publisher.run())
        publishing.add_done_callback(run.on_published)
        try:
            if run.switch.thrown:
                stopped = core_messages.STOPPED_ON_REQUEST
                result = runner.refuse(spec, stopped, aborted=True)
            else:
                result = await runner.run(spec, lambda _: publisher.tell(), run.switch)
            await context.pool.tidy()
            publisher.finish()
            if not run.lost:
                await publishing
        finally:
            publishing.cancel()
            with suppress(asyncio.CancelledError, SubagentsError):
                await publishing
        self._replanner.note_ended(result)
        return result


def _failed(own: ClaimedRun, why: str) -> RunResult:
    """Return the result of a run that was never begun."""
    return RunResult(
        run_id=own.run_id,
        session_id=own.session_id,
        name=own.name,
        status="failed",
        error_message=why,
        finished_at_ms=time.time_ns() // 1_000_000,
    )


def _as_bytes(result: RunResult) -> bytes:
    """Return the result as it travels, its output cut where it would be too large."""
    content = to_json_bytes(result_to_json(result))
    while len(content) > MAX_RESULT_BYTES and result.output:
        output = result.output[: len(result.output) // 2]
        notes = (
            result.notes
            if messages.NOTE_CUT in result.notes
            else (*result.notes, messages.NOTE_CUT)
        )
        result = replace(result, output=output, notes=notes, artifacts_truncated=True)
        content = to_json_bytes(result_to_json(result))
    return content
