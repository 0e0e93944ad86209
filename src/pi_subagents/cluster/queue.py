"""
Take runs from Procrastinate's queue; the only place that knows Procrastinate at work.

In: an address, the tags that count, how many runs at once, what to do with a run's id.  Never: the
end of a run because the queue's connection ended.  A job only says that a run may be claimed; who
has it is decided by the claim, so that a job too many, or one that is gone, does no harm.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from pi_subagents.errors.cluster import ClusterPackageMissing

try:
    import procrastinate
    from procrastinate.exceptions import ProcrastinateException
    from psycopg import Error as DatabaseError
    from psycopg_pool import PoolTimeout
except ImportError as error:  # loaded only where a worker is
    raise ClusterPackageMissing("procrastinate") from error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pi_subagents.cluster.address import ClusterAddress

TASK = "subagents.run"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
_POOL_WAIT_S = 5.0
_CANCEL_AGAIN_S = 3 * _POOL_WAIT_S


class QueueWorker:
    """The loop of one worker: `run` until `stop`; runs at work go on after that."""

    def __init__(
        self,
        address: ClusterAddress,
        tags: Sequence[str],
        concurrency: int,
        on_run: Callable[[str], Awaitable[None]],
    ) -> None:
        self._address, self._tags, self._concurrency = address, list(tags), concurrency
        self._on_run = on_run
        self._slots = asyncio.Semaphore(concurrency)
        self._at_work: set[asyncio.Task[None]] = set()
        self._stopped, self._open = asyncio.Event(), asyncio.Event()
        # Its words are about jobs; what matters of them is said by whoever runs this.
        for name in ("procrastinate", "psycopg.pool"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False

    @property
    def busy(self) -> int:
        """Return how many runs are at work."""
        return len(self._at_work)

    async def run(self) -> None:
        """Take runs until `stop`; where the connection ends, begin again on a new one."""
        asyncio.get_running_loop().set_exception_handler(_on_forgotten)
        pause = FIRST_PAUSE_S
        while not self._stopped.is_set():
            began = asyncio.get_running_loop().time()
            self._open.clear()
            loop = asyncio.create_task(self._once())
            stopped = asyncio.create_task(self._stopped.wait())
            await asyncio.wait({loop, stopped}, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            await self._end_loop(loop)
            if asyncio.get_running_loop().time() - began > LONGEST_PAUSE_S:
                pause = FIRST_PAUSE_S
            if not self._stopped.is_set():
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)

    async def _end_loop(self, loop: asyncio.Task[None]) -> None:
        """
        End it, once it is open: a pool that is cancelled as it opens leaves tasks that never end.

        Opening and closing have their own limits; what takes no notice of the first cancellation
        all the same gets another.
        """
        opened = asyncio.create_task(self._open.wait())
        await asyncio.wait({loop, opened}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        while not loop.done():
            loop.cancel()
            await asyncio.wait({loop}, timeout=_CANCEL_AGAIN_S)

    def stop(self) -> None:
        """Take no more runs."""
        self._stopped.set()

    async def idle(self) -> None:
        """Wait until no run is at work."""
        while self._at_work:
            await asyncio.wait(set(self._at_work))

    async def _once(self) -> None:
        app = procrastinate.App(connector=_connector(self._address))
        app.task(name=TASK)(self._take)
        try:
            async with app.open_async():
                self._open.set()
                await app.run_worker_async(
                    queues=self._tags,
                    concurrency=self._concurrency,
                    install_signal_handlers=False,
                    listen_notify=True,
                    delete_jobs="always",
                    shutdown_graceful_timeout=0,  # what is at work is not the loop's affair
                )
        except (ProcrastinateException, DatabaseError, PoolTimeout, OSError):
            return  # the database is away, or was restarted

    async def _take(self, run_id: str) -> None:
        async with self._slots:
            work = asyncio.create_task(self._work(run_id))
            self._at_work.add(work)
            work.add_done_callback(self._at_work.discard)
            await asyncio.shield(work)

    async def _work(self, run_id: str) -> None:
        await self._on_run(run_id)


def _on_forgotten(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A job whose end could not be written is swept up; Procrastinate leaves its error around."""
    if not isinstance(context.get("exception"), ProcrastinateException):
        loop.default_exception_handler(context)


def _connector(address: ClusterAddress) -> procrastinate.PsycopgConnector:
    parameters = address.parameters("subagents worker queue")
    own: dict[str, Any] = {
        **parameters,
        "options": f"{parameters.get('options', '')} -c search_path=subagents_queue".strip(),
    }
    return procrastinate.PsycopgConnector(kwargs=own, min_size=1, max_size=3, timeout=_POOL_WAIT_S)
