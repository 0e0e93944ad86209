"""
What the database of a cluster costs: submission, the way to a free worker, events back, space.

A PostgreSQL of the wheel, with everything durable, on this machine; the yardstick is the bare
queue, Procrastinate, with empty tasks in the same server.  Caller and workers are in this process,
so what they take of each other's time is in the figures; the children are left out, because what
they cost is measured elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import AsyncExitStack, closing
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, progress

from pi_subagents.cluster import caller, worker
from pi_subagents.cluster.address import ClusterAddress, parse_address
from pi_subagents.cluster.caller import Submission
from pi_subagents.cluster.embedded import LocalServer
from pi_subagents.cluster.link import Link, ShortLink
from pi_subagents.cluster.making import make_cluster
from pi_subagents.cluster.queue import QueueWorker
from pi_subagents.cluster.worker import ClaimedRun, WorkerEntry
from pi_subagents.core.cluster.record import FilePiece

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ORDER = b'{"prompt": "%s"}' % (b"x" * 2000)
RESULT = b'{"status": "completed", "output": "%s"}' % (b"x" * 500)
EVENT = b'{"type": "text", "text": "%s"}\n' % (b"x" * 400)
TALKING = 30
PAUSE_S = 0.05  # how often a worker publishes what its children wrote
PER_RUN = 20  # pieces of a run whose space is measured


def measure(place: Place) -> list[Figure]:
    """Return each figure beside the bare queue where that has one."""
    # PostgreSQL may be another user's process, which has to reach its directory.
    for path in (place.path, *place.path.parents[:1]):
        path.chmod(0o755)
    server = LocalServer(place.path / "server")
    progress("Cluster: starting PostgreSQL")
    server.start()
    try:
        address = parse_address(server.address, {})
        make_cluster(address)
        return asyncio.run(_measured(place, address))
    finally:
        server.stop()


async def _measured(place: Place, address: ClusterAddress) -> list[Figure]:
    async with AsyncExitStack() as stack:
        ours = await Link.open(address, "bench caller")
        stack.push_async_callback(ours.close)
        its = await Link.open(address, "bench worker")
        stack.push_async_callback(its.close)
        entry = WorkerEntry(
            id="bench", host="here", name="bench", tags=("default",), concurrency=50, versions={}
        )
        await worker.register(its, entry)
        return [
            *await _submission(place, address, ours),
            *await _way_to_a_worker(place, address, ours, its),
            *await _events(place, ours, its),
            *await _following(place, ours, its),
            *await _space(place, address, ours, its),
        ]


def _runs(count: int, tag: str) -> list[Submission]:
    return [
        Submission(
            run_id=os.urandom(16).hex(), session_id="bench", name="bench", order=ORDER, tag=tag
        )
        for _ in range(count)
    ]


async def _submission(place: Place, address: ClusterAddress, ours: Link) -> list[Figure]:
    progress("Cluster: submission")
    import procrastinate

    count = place.amount(600, 200, 20)
    rates: list[float] = []
    bare: list[float] = []
    connector = procrastinate.PsycopgConnector(
        kwargs={**address.parameters("bench"), "options": "-c search_path=subagents_queue"},
        min_size=1,
        max_size=1,
    )
    app = procrastinate.App(connector=connector)

    @app.task(name="bench.empty", queue="bare")
    async def empty() -> None: ...

    async with app.open_async():
        for each in range(place.rounds(5)):
            rates.append(
                await _rate(
                    count,
                    lambda each=each: caller.submit(  # type: ignore[misc]  # bound now
                        ours, f"submit-{each}", _runs(count, "nobody"), attached=False
                    ),
                )
            )

            async def defer() -> None:
                await empty.batch_defer_async(*({} for _ in range(count)))

            bare.append(await _rate(count, defer))
    return [
        Figure("Cluster", "submitted", "runs/s", tuple(rates), Target(300, at_least=True)),
        Figure("Cluster", "the bare queue", "jobs/s", tuple(bare)),
    ]


async def _rate(count: int, work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return count / (time.perf_counter() - began)


async def _way_to_a_worker(
    place: Place, address: ClusterAddress, ours: Link, its: Link
) -> list[Figure]:
    """From the submission of one run to its beginning on a worker that is free."""
    progress("Cluster: the way to a free worker")
    begun: asyncio.Queue[float] = asyncio.Queue()

    async def on_run(run_id: str) -> None:
        if own := await worker.claim(its, "bench", run_id):
            await worker.begin(its, own)
            begun.put_nowait(time.perf_counter())
            await worker.finish(its, own, RESULT)

    queue = QueueWorker(address, ["default"], 4, on_run)
    loop = asyncio.create_task(queue.run())
    took: list[float] = []
    try:
        for each in range(place.rounds(41)):
            began = time.perf_counter()
            await caller.submit(ours, f"way-{each}", _runs(1, "default"), attached=False)
            took.append((await begun.get() - began) * 1000)
    finally:
        queue.stop()
        await loop
        await queue.idle()
    # The first one waits for the worker's own connections.
    return [
        Figure("Cluster", "a free worker begins after", "ms", tuple(took[1:] or took), Target(50))
    ]


async def _claimed(ours: Link, its: Link, call: str, count: int) -> list[ClaimedRun]:
    runs = _runs(count, "nobody")
    await caller.submit(ours, call, runs, attached=False)
    found = [await worker.claim(its, "bench", each.run_id) for each in runs]
    for own in found:
        assert own is not None
        await worker.begin(its, own)
    return [own for own in found if own is not None]


async def _events(place: Place, ours: Link, its: Link) -> list[Figure]:
    """From the worker's hand to the caller's, with thirty children that talk all the time."""
    progress("Cluster: events of 30 talking children")
    turns = place.amount(60, 20, 2)
    runs = await _claimed(ours, its, "talk", TALKING)
    sent: dict[tuple[str, int], float] = {}
    took: list[float] = []
    known = {own.run_id: 0 for own in runs}
    news = asyncio.Event()
    await ours.listen(caller.channel_of_call("talk"), lambda _: news.set())

    async def talk(own: ClaimedRun) -> None:
        for number in range(1, turns + 1):
            sent[own.run_id, number] = time.perf_counter()
            piece = FilePiece(number=number, file="events.jsonl", place=number, data=EVENT)
            await worker.add_records(its, own, [piece])
            await asyncio.sleep(PAUSE_S)

    async def hear() -> None:
        while len(took) < TALKING * turns:
            await news.wait()
            news.clear()
            for run_id, state in (await caller.states(ours, known)).items():
                if state.last_number > known[run_id]:
                    for piece in await caller.records_after(ours, run_id, 1, known[run_id]):
                        now = time.perf_counter()
                        took.append((now - sent[run_id, piece.number]) * 1000)
                        known[run_id] = piece.number

    await asyncio.gather(hear(), *map(talk, runs))
    took.sort()
    return [
        Figure("Cluster", "an event arrives after", "ms", tuple(took), Target(50)),
        Figure(
            "Cluster",
            "99 of 100 events after",
            "ms",
            (took[int(len(took) * 0.99) - 1],),
            Target(300),
        ),
    ]


async def _following(place: Place, ours: Link, its: Link) -> list[Figure]:
    """What a caller's own processor time is for a run, from submission to its last record."""
    found: list[Figure] = []
    for count in (10, place.amount(1000, 200, 20)):
        progress(f"Cluster: following {count} runs")
        before = time.process_time()
        runs = await _claimed(ours, its, f"follow-{count}", count)
        worked = time.process_time()
        for own in runs:
            piece = FilePiece(number=1, file="events.jsonl", place=0, data=EVENT)
            await worker.add_records(its, own, [piece])
            await worker.finish(its, own, RESULT)
        began = time.process_time()
        for own in runs:
            await caller.states(ours, [own.run_id])
            await caller.records_after(ours, own.run_id, 1, 0)
        await caller.fetched(ours, [own.run_id for own in runs])
        spent = (time.process_time() - began) + (worked - before) / 2  # the claims are half of it
        name = f"caller's processor time for each of {count:,} runs"
        found.append(Figure("Cluster", name, "ms", (spent / count * 1000,)))
    return found


async def _space(place: Place, address: ClusterAddress, ours: Link, its: Link) -> list[Figure]:
    """What a run takes in the database while it is there, and once its caller has it."""
    progress("Cluster: space")
    count = place.amount(500, 100, 10)

    def size() -> int:
        with closing(_Sizes(address)) as sizes:
            return sizes.bytes()

    before = size()
    runs = await _claimed(ours, its, "space", count)
    for own in runs:
        pieces = [
            FilePiece(number=number, file="events.jsonl", place=number, data=EVENT)
            for number in range(1, PER_RUN + 1)
        ]
        await worker.add_records(its, own, pieces)
        await worker.finish(its, own, RESULT)
    full = (size() - before) / count / 1024
    await caller.fetched(ours, [own.run_id for own in runs])
    with closing(_Sizes(address)) as sizes:
        sizes.vacuum()
        left = (sizes.bytes() - before) / count / 1024
    return [
        Figure("Cluster", f"a run of {PER_RUN} records takes in the database", "KB", (full,)),
        Figure("Cluster", "once its caller has it", "KB", (max(left, 0.0),)),
    ]


class _Sizes:
    """How large the tables are; the owner may tidy them up."""

    def __init__(self, address: ClusterAddress) -> None:
        import psycopg

        self._link = ShortLink(address, "bench")
        self._connection = psycopg.connect(**address.parameters("bench"), autocommit=True)

    def bytes(self) -> int:
        (row,) = self._link.call("overview", 0)
        return int(row["overview"]["bytes"])

    def vacuum(self) -> None:
        self._connection.execute("VACUUM FULL subagents.record")
        self._connection.execute("VACUUM FULL subagents.run")

    def close(self) -> None:
        self._connection.close()
        self._link.__exit__(None, None, None)
