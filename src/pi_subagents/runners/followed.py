"""
Follow one run of a cluster to its end, and have it ended where its caller wants that.

In: a run that was submitted, and its mirror.  Out: its result.  What its worker writes is in the
run's directory first, and is passed on from there.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from pi_subagents.cluster.caller import fetched, records_after, states
from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.state import LOST, RunState
from pi_subagents.core.run import events as ev
from pi_subagents.core.stop_switch import FORCING
from pi_subagents.errors import SubagentsError
from pi_subagents.runners import messages
from pi_subagents.runners.planned import without_supervisor
from pi_subagents.store.remote.ending import conclude_remote
from pi_subagents.store.tails import JournalTail
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from pi_subagents.cluster.caller import CommandKind
    from pi_subagents.cluster.link import Link
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.runners.call_link import CallLink
    from pi_subagents.store.remote.mirror import Mirror
    from pi_subagents.store.run_dir import RunDir

_AT_ONCE = 16  # records passed on before everything else gets its turn
# How long a run that is to end is waited for while the database does not answer.
_LEAVE_S = 10.0
_LOOK_S = 0.5
_LADDER: tuple[CommandKind, ...] = ("stop", "kill")  # one for each cancellation


class FollowedRun:
    """One run that a worker does, or will do."""

    def __init__(self, spec: RunSpec, call: CallLink, link: Link, mirror: Mirror) -> None:
        self._spec = spec
        self._call = call
        self._link = link
        self._mirror = mirror
        self._news = call.follow(spec.run_id)  # from before it is submitted

    async def until_done(
        self,
        submitted: Callable[[], Coroutine[None, None, RunResult | None]],
        on_event: Callable[[Event], None],
        stop: StopSwitch,
        accept: Callable[[RunDir, RunResult], RunResult],
    ) -> RunResult:
        """Wait for the end; a cancellation stops the run, a second one kills it."""

        async def do() -> RunResult:
            if (refused := await submitted()) is not None:
                return refused
            leave = stop.listen(lambda level: self._order(_LADDER[level >= FORCING]))
            try:
                state = await self._follow(on_event)
            finally:
                leave()
            return await self._conclude(state, accept)

        work = asyncio.create_task(do())
        for kind in _LADDER:
            try:
                result = await self._waited(work, stop, cancelled=kind != _LADDER[0])
            except asyncio.CancelledError:
                self._order(kind)
            else:
                if kind == _LADDER[0]:
                    return result or self._left()
                raise asyncio.CancelledError
        await self._waited(work, stop, cancelled=True)
        raise asyncio.CancelledError

    def _order(self, kind: CommandKind) -> None:
        self._call.order(self._link, self._spec.run_id, kind)

    async def _follow(self, on_event: Callable[[Event], None]) -> RunState:
        """Mirror the run until it is over; return how it stands then."""
        run_id, mirror, news = self._spec.run_id, self._mirror, self._news
        state, worker = self._unknown(), ""
        tail = JournalTail(mirror.run_dir)
        try:
            while True:
                if news.take_change():
                    found = await states(self._link, [run_id])
                    state = found.get(run_id) or self._unknown()
                elif news.seen is not None:
                    state, news.seen = news.seen, None
                if state.worker not in ("", worker):
                    worker = state.worker
                    on_event(ev.Note(messages.on_worker(worker, state.host)))
                mirror.note_worker(state)
                with suppress(OSError):  # no room here: the next look finds it in the database
                    await self._fetch(state)
                await _pass_on(tail, on_event)
                if state.is_over:
                    return state
                await news.wait()
        finally:
            tail.close()

    async def _fetch(self, state: RunState) -> None:
        """Bring what there is of the run here."""
        while state.attempt:
            after = self._mirror.after(state.attempt)
            pieces = await records_after(self._link, state.run_id, state.attempt, after)
            if not pieces or self._mirror.write(state.attempt, pieces) == after:
                return

    async def _conclude(
        self, state: RunState, accept: Callable[[RunDir, RunResult], RunResult]
    ) -> RunResult:
        conclude = partial(conclude_remote, self._mirror, state, accept)
        try:
            result = await in_own_thread("conclude", conclude)
        except OSError as error:  # the next look tries again
            why = error.strerror or str(error)
            return without_supervisor(self._spec, "interrupted", core_messages.INTERRUPTED, why)
        self._mirror.run_dir.desk.clear_ours()
        with suppress(SubagentsError):
            await fetched(self._link, [self._spec.run_id])
        return result

    async def _waited(
        self, work: asyncio.Task[RunResult], stop: StopSwitch, *, cancelled: bool
    ) -> RunResult | None:
        """Return the result; None where the run is to end and the database is away."""
        while True:
            done, _ = await asyncio.wait([work], timeout=_LOOK_S)
            if done:
                return work.result()
            if (stop.thrown or cancelled) and self._call.away_s > _LEAVE_S:
                work.cancel()
                await asyncio.wait([work])
                return None

    def _unknown(self) -> RunState:
        """Return how a run stands that the cluster does not know."""
        reason = messages.unknown_to_cluster(self._link.address.shown)
        return RunState(self._spec.run_id, LOST, 0, "", "", 0, None, reason, 0, None, None, 0)

    def _left(self) -> RunResult:
        """Return what is known of a run that nobody could stop; its end comes later."""
        message = messages.left_in_cluster(self._link.address.shown)
        return without_supervisor(self._spec, "interrupted", message, "")


async def _pass_on(tail: JournalTail, on_event: Callable[[Event], None]) -> None:
    """Pass what is new in the journal on."""
    numbers = count(1)
    with suppress(OSError):
        for entry in tail.new_entries():
            on_event(entry.event)
            if not next(numbers) % _AT_ONCE:
                await asyncio.sleep(0)
