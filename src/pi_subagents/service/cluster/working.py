"""
The loop of a worker: take runs of its tags, a few at once, and say again and again that it lives.

In: what the worker is to be, and who hears what it does.  Out: nothing; it ends when it was told
to and no run is at work.  The database may go and come back: what was begun goes on for 30 s, and
is ended then, because by that time it counts as lost.  Nothing that is wrong with one run, and no
answer of the database, ends the worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents._version import __version__
from pi_subagents.cluster.address import cluster_address
from pi_subagents.cluster.link import Link
from pi_subagents.cluster.queue import QueueWorker
from pi_subagents.cluster.worker import (
    WorkerEntry,
    channel_of_worker,
    claim,
    give_back,
    hold,
    register,
    sweep,
    unregister,
)
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.value import replace, value
from pi_subagents.errors import SharedPathUnusable, SubagentsError
from pi_subagents.errors.cluster import ClusterError
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.carrying_out import AtWork, CarryingOut
from pi_subagents.service.cluster.receiving import Receiver
from pi_subagents.service.cluster.replanning import Replanner
from pi_subagents.service.cluster.taking_commands import take_commands
from pi_subagents.service.cluster.worker_place import hold_place, usual_name, worker_place
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

HOLD_EVERY_S = 5.0
SWEEP_EVERY_S = 10.0
# For so long a run is ours without the database having said so.
UNHEARD_LIMIT_S = 30.0
PRUNE_EVERY_S = 3600.0
FULL_PAUSE_S = 5.0  # between two looks whether there is room again
MIN_FREE_BYTES = 16 * 1024 * 1024
_AGAIN_S = 1.0  # until what waits for a run that is being planned is looked at once more


@value
class WorkerOptions:
    """What a worker is to be."""

    name: str  # empty: what the machine is called
    concurrency: int
    tags: tuple[str, ...]
    trusts: tuple[str, ...] = ()  # roles whose orders it takes; empty: all that may submit
    shared: tuple[Path, ...] = ()  # directories that callers have, too


async def run_worker(
    options: WorkerOptions, cwd: Path, env: Mapping[str, str], notice: Callable[[str], None]
) -> None:
    """Be a worker until a signal says otherwise; errors are those of the beginning."""
    refuse_inside_subagent(env)
    for path in options.shared:
        if not path.is_dir():
            raise SharedPathUnusable(str(path))
    address = cluster_address(load_settings(cwd, env)[0], env)
    options = replace(options, name=options.name or usual_name())
    lock = hold_place(options.name, env)
    try:
        link = await Link.open(address, "subagents worker")
        try:
            await WorkerLoop(options, link, env, notice).work()
        finally:
            await link.close()
    finally:
        os.close(lock)


class WorkerLoop:
    """One worker, from its registration to its end."""

    def __init__(
        self,
        options: WorkerOptions,
        link: Link,
        env: Mapping[str, str],
        notice: Callable[[str], None],
    ) -> None:
        self._link, self._notice = link, notice
        place = worker_place(options.name, env)
        self._place = place
        self._replanner = Replanner(place, env, options.shared)
        receiver = Receiver(link, place, self._replanner.environment)
        self._carrying_out = CarryingOut(link, receiver, self._replanner, options.trusts or None)
        self._entry = WorkerEntry(
            id=f"{options.name}-{os.urandom(4).hex()}",
            host=os.uname().nodename,
            name=options.name,
            tags=options.tags,
            concurrency=options.concurrency,
            versions={"pi-subagents": __version__, **self._replanner.versions()},
            trusts=options.trusts,
        )
        self._at_work: dict[str, AtWork] = {}
        self._queue = QueueWorker(link.address, options.tags, options.concurrency, self._take)
        self._news = asyncio.Event()
        self._held_at = time.monotonic()
        self._ending = asyncio.Event()
        self._is_full = False

    async def work(self) -> None:
        """Work until told to end."""
        await in_own_thread("recover", self._tidy)
        await register(self._link, self._entry)
        await self._link.listen(channel_of_worker(self._entry.id), lambda _: self._news.set())
        entry = self._entry
        self._notice(
            messages.worker_begins(
                entry.name, self._link.address.shown, entry.concurrency, ", ".join(entry.tags)
            )
        )
        loops = [
            asyncio.create_task(each)
            for each in (
                self._every(HOLD_EVERY_S, self._hold),
                self._every(SWEEP_EVERY_S, self._sweep),
                self._every(PRUNE_EVERY_S, self._prune),
                self._follow_news(),
                self._watch(),
            )
        ]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal)
        try:
            await self._queue.run()
            await self._queue.idle()
            await self._leave()
        finally:
            for each in loops:
                each.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._replanner.pool.close()

    async def _leave(self) -> None:
        """Be listed no more; where the database is away, others will see that for themselves."""
        with suppress(ClusterError, TimeoutError):
            async with asyncio.timeout(HOLD_EVERY_S):
                await unregister(self._link, self._entry.id)

    # Runs

    async def _take(self, run_id: str) -> None:
        """Claim a run and carry it out; another worker may have been quicker."""
        try:
            own = await claim(self._link, self._entry.id, run_id)
        except ClusterError as error:
            self._notice(messages.out_of_order(str(error)))
            return
        if own is None:
            return
        if not self._has_room():
            await give_back(self._link, own)
            with suppress(TimeoutError):  # meanwhile others take it
                async with asyncio.timeout(FULL_PAUSE_S):
                    await self._ending.wait()
            return
        run = self._at_work[run_id] = AtWork(own)
        self._notice(messages.run_begins(run_id, own.name, own.submitter))
        try:
            result = await self._carrying_out.carry_out(run)
        except ClusterError as error:
            self._notice(messages.out_of_order(str(error)))
        else:
            if result is None:
                self._notice(messages.run_lost(run_id))
            else:
                reason = "" if result.status == "completed" else result.error_message
                self._notice(messages.run_ended(run_id, result.status, reason))
        finally:
            del self._at_work[run_id]
            self._place.clear_up(run_id)

    def _has_room(self) -> bool:
        """Return whether another run fits on the disk; it could only fail, as would all others."""
        there = os.statvfs(self._place.home)
        was_full, self._is_full = self._is_full, there.f_bavail * there.f_frsize < MIN_FREE_BYTES
        if self._is_full and not was_full:
            self._notice(messages.no_room(str(self._place.home)))
        return not self._is_full

    # What is done beside them

    async def _every(
        self, pause_s: float, what: Callable[[], Coroutine[object, object, None]]
    ) -> None:
        while True:
            try:
                await what()
            except (SubagentsError, OSError) as error:
                self._notice(messages.out_of_order(str(error)))
            await asyncio.sleep(pause_s)

    async def _hold(self) -> None:
        own = [run.own for run in self._at_work.values()]
        held = await hold(self._link, self._entry.id, len(own), own)
        self._held_at = time.monotonic()
        if not held.known:
            await register(self._link, self._entry)
        for run_id in held.lost:
            # One that ended meanwhile is not ours any more either, and is not here.
            if run_id in self._at_work and self._at_work[run_id].own in own:
                self._at_work[run_id].lose()
        if held.draining:
            self._drain()

    async def _sweep(self) -> None:
        await sweep(self._link)

    async def _prune(self) -> None:
        await in_own_thread("prune", partial(self._place.prune, self._replanner.runs))

    def _tidy(self) -> None:
        """Conclude what a worker of this name left that was killed."""
        self._replanner.runs.recover()

    async def _follow_news(self) -> None:
        while True:
            with suppress(TimeoutError):
                waits = any(run.desk is None for run in self._at_work.values())
                async with asyncio.timeout(_AGAIN_S if waits else None):
                    await self._news.wait()
            self._news.clear()
            try:
                switches = {run_id: run.switch for run_id, run in self._at_work.items()}
                desks = {run_id: run.desk for run_id, run in self._at_work.items() if run.desk}
                await take_commands(self._link, self._entry.id, switches, desks)
                await self._hold()  # it may be told to drain, or have lost a run
            except (SubagentsError, OSError) as error:
                self._notice(messages.out_of_order(str(error)))

    async def _watch(self) -> None:
        """End what is at work once the database has not been heard of for too long."""
        while True:
            await asyncio.sleep(1)
            if time.monotonic() - self._held_at > UNHEARD_LIMIT_S:
                for run in self._at_work.values():
                    run.cut_off(messages.CLUSTER_AWAY)

    # Its end

    def _on_signal(self) -> None:
        """Take no more runs; at the second time, end those that are at work."""
        if self._ending.is_set():
            for run in self._at_work.values():
                run.cut_off(messages.WORKER_ENDED)
        self._drain()

    def _drain(self) -> None:
        if not self._ending.is_set():
            self._ending.set()
            self._notice(messages.draining(len(self._at_work)))
            self._queue.stop()
