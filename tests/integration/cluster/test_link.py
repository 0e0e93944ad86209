"""Connections come back, packs are what they are called, and the queue outlives its server."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.cluster_runs import entry, submission
from tests.fakes.cluster_server import TestCluster, start_server

from pi_subagents.cluster import caller, packs, worker
from pi_subagents.cluster.link import Link, ShortLink
from pi_subagents.cluster.queue import QueueWorker
from pi_subagents.errors.cluster import ClusterRefused, ClusterRunUnknown, ClusterUnreachable

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def own_cluster() -> Iterator[TestCluster]:
    """A cluster on a server that this test may stop."""
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    directory.chmod(0o755)
    server = start_server(directory / "server")
    try:
        yield TestCluster(server, "made")
    finally:
        server.stop(at_once=True)
        shutil.rmtree(directory)


async def test_a_restart_of_postgresql_ends_neither_a_call_nor_a_run_nor_what_is_heard(
    own_cluster: TestCluster,
) -> None:
    begun: asyncio.Queue[str] = asyncio.Queue()
    may_end = asyncio.Event()
    async with AsyncExitStack() as stack:
        ours = await Link.open(own_cluster.address("caller"), "caller")
        stack.push_async_callback(ours.close)
        its = await Link.open(own_cluster.address("worker"), "worker")
        stack.push_async_callback(its.close)
        await worker.register(its, entry("w1"))

        async def on_run(run_id: str) -> None:
            own = await worker.claim(its, "w1", run_id)
            assert own is not None
            await worker.begin(its, own)
            begun.put_nowait(run_id)
            await may_end.wait()
            await worker.finish(its, own, b"{}")

        queue = QueueWorker(own_cluster.address("worker"), ["default"], 2, on_run)
        loop = asyncio.create_task(queue.run())
        news: asyncio.Queue[str] = asyncio.Queue()
        await ours.listen(caller.channel_of_call("c1"), news.put_nowait)
        assert await news.get() == ""
        await caller.submit(ours, "c1", [submission("r1")], attached=True)
        assert await begun.get() == "r1"

        own_cluster.server.stop(at_once=True)
        waiting = asyncio.create_task(caller.submit(ours, "c1", [submission("r2")], attached=True))
        while not ours.away_s:
            await asyncio.wait([waiting], timeout=0.01)
        assert not waiting.done()
        own_cluster.server.start()

        assert await waiting == {}
        assert ours.away_s == 0
        while await news.get() != "":  # it looks again, whatever it missed
            pass
        assert await begun.get() == "r2"  # while the first is at work all the same
        assert queue.busy == 2
        may_end.set()
        queue.stop()
        await loop
        await queue.idle()
        states = await caller.states(ours, ["r1", "r2"])
        assert [(each.state, each.attempt) for each in states.values()] == [("ended", 1)] * 2


async def test_a_connection_that_is_cut_is_made_again(cluster: TestCluster) -> None:
    link = await Link.open(cluster.address("caller"), "to be cut")
    cluster.do(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to be cut'"
    )
    assert (await link.call("schema_version"))[0]["version"] == 1
    await link.close()


async def test_a_call_that_is_given_up_leaves_a_link_that_works(cluster: TestCluster) -> None:
    link = await Link.open(cluster.address("caller"), "caller")
    held = asyncio.create_task(link.call("schema_version"))
    await asyncio.sleep(0)
    held.cancel()
    await asyncio.gather(held, return_exceptions=True)
    assert (await link.call("schema_version"))[0]["version"] == 1
    await link.close()


async def test_a_server_that_is_not_there_is_said_at_once(own_cluster: TestCluster) -> None:
    own_cluster.server.stop(at_once=True)
    address = own_cluster.address("caller")
    with pytest.raises(ClusterUnreachable, match=f"Cannot reach the cluster at {address}: "):
        await Link.open(address, "caller")
    with pytest.raises(ClusterUnreachable):
        ShortLink(address, "caller")


@pytest.mark.parametrize("size", [0, 1, packs.PART_BYTES, packs.PART_BYTES + 1, 3_000_000])
async def test_a_pack_comes_back_as_it_was(cluster: TestCluster, tmp_path: Path, size: int) -> None:
    path = tmp_path / "pack"
    path.write_bytes(os.urandom(size))
    pack = packs.pack_of(path)
    ours = await Link.open(cluster.address("caller"), "caller")
    its = await Link.open(cluster.address("worker"), "worker")
    assert await packs.packs_there(its, [pack.digest]) == set()
    for _ in range(2):
        await packs.put_pack(ours, pack)
    assert await packs.packs_there(its, [pack.digest, "0" * 64]) == {pack.digest}
    got = [part async for part in packs.pack_parts(its, pack.digest)]
    assert b"".join(got) == path.read_bytes()
    with pytest.raises(ClusterRunUnknown):
        [part async for part in packs.pack_parts(its, "0" * 64)]
    await ours.close()
    await its.close()


async def test_nobody_puts_other_bytes_under_a_packs_name(cluster: TestCluster) -> None:
    digest = "0" * 64
    link = await Link.open(cluster.address("caller"), "caller")
    with pytest.raises(ClusterRefused, match=r"the bytes of pack 0+ are others"):
        await link.call("put_pack_part", digest, 3, 1, 1, b"bad")
    for size, parts, part, data in (
        (257 * 1024**2, 1, 1, b""), (1, 1, 2, b"x"), (1, 257, 1, b"x"), (1, 1, 1, b"x" * 1_048_577),
    ):  # fmt: skip
        with pytest.raises(ClusterRefused, match="a pack of that size is refused"):
            await link.call("put_pack_part", digest, size, parts, part, data)
    assert await packs.packs_there(link, [digest]) == set()
    await link.close()
