"""Exactly one attempt of a run counts, and the database sees to it, whatever workers believe."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
from tests.fakes.cluster_runs import entry, pieces, submission

from pi_subagents.cluster import caller, worker
from pi_subagents.cluster.link import Link
from pi_subagents.core.value import replace
from pi_subagents.errors.cluster import AttemptOver, ClusterRefused, ClusterRunUnknown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.cluster_server import TestCluster

    from pi_subagents.cluster.worker import ClaimedRun
    from pi_subagents.core.cluster.state import RunState

RESULT = b'{"status": "completed", "output": "\\u0000 \\ud800"}'
LONG_AGO = "clock_timestamp() - interval '31 seconds'"


class Two:
    """A caller and a worker with one run between them."""

    def __init__(self, cluster: TestCluster, ours: Link, its: Link) -> None:
        self.cluster, self.ours, self.its = cluster, ours, its

    async def submit(self, *, attached: bool = True, **fields: object) -> None:
        assert await caller.submit(self.ours, "c1", [submission(**fields)], attached=attached) == {}

    async def claim(self, worker_id: str = "w1", run_id: str = "r1") -> ClaimedRun:
        own = await worker.claim(self.its, worker_id, run_id)
        assert own is not None
        return own

    async def state(self, run_id: str = "r1") -> RunState:
        return (await caller.states(self.ours, [run_id]))[run_id]

    def silence(self) -> None:
        """Let half a minute pass in which no worker was heard of."""
        self.cluster.do(f"UPDATE subagents.run SET seen_at = {LONG_AGO}, queued_at = {LONG_AGO}")

    def jobs(self) -> list[str]:
        rows = self.cluster.do(
            "SELECT args ->> 'run_id' || ' ' || status FROM subagents_queue.procrastinate_jobs ORDER BY id"
        )
        return [str(row[0]) for row in rows]


@pytest.fixture
async def two(cluster: TestCluster) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        ours = await Link.open(cluster.address("caller"), "caller")
        stack.push_async_callback(ours.close)
        its = await Link.open(cluster.address("worker"), "worker")
        stack.push_async_callback(its.close)
        await worker.register(its, entry("w1"))
        await worker.register(its, entry("w2"))
        yield Two(cluster, ours, its)


async def test_a_run_goes_its_way_from_the_caller_to_its_result(two: Two) -> None:
    await two.submit()
    assert two.jobs() == ["r1 todo"]
    queued = await two.state()
    own = await two.claim()
    assert (own.attempt, own.order, own.attached, own.submitter) == (1, b'{"v": 1}', True, "caller")
    await worker.begin(two.its, own)
    await worker.add_records(two.its, own, pieces(1, b"a", b"b"))
    await worker.add_records(two.its, own, pieces(3, b"c"))
    assert await caller.records_after(two.ours, "r1", 1, 1) == [
        replace(pieces(1, b"a", b"b")[1]),
        *pieces(3, b"c"),
    ]
    await worker.finish(two.its, own, RESULT)
    ended = await two.state()
    assert ended == replace(
        queued,
        state="ended",
        attempt=1,
        worker="name-of-w1",
        host="far",
        last_number=3,
        result=RESULT,
        begun_ms=ended.begun_ms,
        ended_ms=ended.ended_ms,
    )


async def test_whoever_waits_hears_of_records_by_their_number_and_of_each_state_by_none(
    two: Two,
) -> None:
    await two.submit()
    news: asyncio.Queue[str] = asyncio.Queue()
    await two.ours.listen(caller.channel_of_call("c1"), news.put_nowait)
    own = await two.claim()
    await worker.add_records(two.its, own, pieces(1, b"a", b"b"))
    await worker.finish(two.its, own, RESULT)
    assert [await news.get() for _ in range(4)] == ["", "r1 0", "r1 2", "r1 0"]


async def test_fifty_workers_that_claim_at_once_get_one_claim(two: Two) -> None:
    await two.submit()
    links = await asyncio.gather(
        *(Link.open(two.cluster.address("worker"), "claims") for _ in range(50))
    )
    try:
        await asyncio.gather(
            *(worker.register(each, entry(f"many-{i}")) for i, each in enumerate(links))
        )
        claims = await asyncio.gather(
            *(worker.claim(each, f"many-{i}", "r1") for i, each in enumerate(links))
        )
    finally:
        await asyncio.gather(*(each.close() for each in links))
    assert [own.attempt for own in claims if own] == [1]


async def test_a_claim_whose_answer_was_lost_is_answered_again_and_to_nobody_else(two: Two) -> None:
    await two.submit()
    (first,) = await two.its.call("claim", "r1", "w1", "token")
    assert await two.its.call("claim", "r1", "w1", "token") == [first]
    assert await two.its.call("claim", "r1", "w1", "another token") == []


async def test_a_run_that_was_claimed_and_not_begun_goes_to_another_worker(two: Two) -> None:
    await two.submit()
    old = await two.claim("w1")
    two.silence()
    assert await worker.sweep(two.its) == worker.Swept(queued=1, lost=0, stopped=0)
    assert (await two.state()).state == "queued"
    assert two.jobs() == ["r1 todo"]
    new = await two.claim("w2")
    assert new.attempt == 2
    # The old worker was only asleep.
    for question in (
        worker.begin(two.its, old),
        worker.add_records(two.its, old, pieces(1, b"x")),
        worker.finish(two.its, old, RESULT),
        worker.give_back(two.its, old),
        worker.refuse(two.its, old, "no", RESULT),
    ):
        with pytest.raises(AttemptOver):
            await question
    held = await worker.hold(two.its, "w1", 1, [old])
    assert held == worker.StillHeld(known=True, draining=False, lost=("r1",))
    await worker.begin(two.its, new)
    await worker.finish(two.its, new, RESULT)
    assert ((await two.state()).attempt, (await two.state()).result) == (2, RESULT)


async def test_a_run_that_was_begun_is_lost_with_its_worker_and_begins_nowhere_else(
    two: Two,
) -> None:
    await two.submit()
    own = await two.claim()
    await worker.begin(two.its, own)
    await worker.add_records(two.its, own, pieces(1, b"all that was recorded"))
    two.silence()
    assert await worker.sweep(two.its) == worker.Swept(queued=0, lost=1, stopped=0)
    lost = await two.state()
    assert (lost.state, lost.result, lost.reason) == (
        "lost", None, "its worker was not heard of for 30 seconds",
    )  # fmt: skip
    assert await caller.records_after(two.ours, "r1", 1, 0) == pieces(1, b"all that was recorded")
    assert two.jobs() == []
    with pytest.raises(AttemptOver, match="attempt 1 of run r1 is over"):
        await worker.finish(two.its, own, RESULT)
    assert await worker.claim(two.its, "w2", "r1") is None


async def test_a_run_that_may_have_two_attempts_begins_again_and_no_third_time(two: Two) -> None:
    await two.submit(attempts_max=2)
    for attempt, after in ((1, "queued"), (2, "lost")):
        own = await two.claim()
        assert own.attempt == attempt
        await worker.begin(two.its, own)
        await worker.add_records(two.its, own, pieces(1, b"%d" % attempt))
        two.silence()
        await worker.sweep(two.its)
        assert (await two.state()).state == after
    assert [(await caller.records_after(two.ours, "r1", each, 0))[0].data for each in (1, 2)] == [
        b"1",
        b"2",
    ]


async def test_a_worker_that_is_heard_of_keeps_its_runs(two: Two) -> None:
    await two.submit()
    own = await two.claim()
    two.silence()
    held = await worker.hold(two.its, "w1", 1, [own])
    assert held == worker.StillHeld(known=True, draining=False, lost=())
    assert await worker.sweep(two.its) == worker.Swept(queued=0, lost=0, stopped=0)


async def test_a_job_that_was_lost_between_queue_and_claim_is_queued_again(two: Two) -> None:
    await two.submit()
    two.cluster.do("UPDATE subagents_queue.procrastinate_jobs SET status = 'doing'")
    two.silence()
    assert await worker.sweep(two.its) == worker.Swept(queued=1, lost=0, stopped=0)
    assert two.jobs() == ["r1 todo"]
    two.silence()  # and a run that merely waits for long is left where it stands
    assert await worker.sweep(two.its) == worker.Swept(queued=0, lost=0, stopped=0)


@pytest.mark.parametrize("attached", [True, False])
async def test_runs_end_with_a_caller_that_is_gone_if_they_were_attached(
    two: Two, *, attached: bool
) -> None:
    await caller.submit(two.ours, "c1", [submission("r1"), submission("r2")], attached=attached)
    own = await two.claim()
    await worker.begin(two.its, own)
    assert await worker.sweep(two.its) == worker.Swept(queued=0, lost=0, stopped=0)
    two.cluster.do(f"UPDATE subagents.call SET seen_at = {LONG_AGO}")
    assert (await worker.sweep(two.its)).stopped == (2 if attached else 0)
    assert (await worker.sweep(two.its)).stopped == 0  # said once
    waiting = await two.state("r2")
    assert (waiting.state, waiting.reason) == (
        ("stopped", "its caller was not heard of for 30 seconds") if attached else ("queued", "")
    )
    assert [each.kind for each in await worker.commands_for(two.its, "w1")] == (
        ["stop"] if attached else []
    )


async def test_a_caller_that_says_it_is_there_keeps_its_runs(two: Two) -> None:
    await two.submit()
    two.cluster.do(f"UPDATE subagents.call SET seen_at = {LONG_AGO}")
    await caller.beat(two.ours, "c1")
    assert (await worker.sweep(two.its)).stopped == 0


async def test_what_is_asked_twice_is_done_once(two: Two) -> None:
    for _ in range(2):
        await two.submit()
    assert two.jobs() == ["r1 todo"]
    own = await two.claim()
    for _ in range(2):
        await worker.begin(two.its, own)
        await worker.add_records(two.its, own, pieces(1, b"a", b"b"))
    await worker.add_records(two.its, own, pieces(2, b"b", b"c"))  # the half of it is new
    for _ in range(2):
        await worker.finish(two.its, own, RESULT)
    found = await caller.records_after(two.ours, "r1", 1, 0)
    assert [(each.number, each.data) for each in found] == [(1, b"a"), (2, b"b"), (3, b"c")]
    token = ("the same token", "r1", "steer", "x")
    assert await two.ours.call("command", *token) == await two.ours.call("command", *token)


@pytest.mark.parametrize(
    ("first", "file", "place", "data"),
    [(2, "events.jsonl", 0, b"a gap"), (0, "events.jsonl", 0, b"x"), (1, "../etc", 0, b"x"),
     (1, "/etc/passwd", 0, b"x"), (1, "events.jsonl", -1, b"x"), (1, "", 0, b"x"),
     (1, "a" * 50, 0, b"x"), (1, "events.jsonl", 0, b"x" * (33 * 1024 * 1024))],
)  # fmt: skip
async def test_records_that_do_not_fit_are_refused(
    two: Two, first: int, file: str, place: int, data: bytes
) -> None:
    await two.submit()
    own = await two.claim()
    with pytest.raises(ClusterRefused, match="records of run r1 that do not fit are refused"):
        await two.its.call("add_records", "r1", own.attempt, first, [file], [place], [data])
    assert await caller.records_after(two.ours, "r1", 1, 0) == []


async def test_a_result_that_is_no_object_is_refused_and_the_run_can_still_end(two: Two) -> None:
    await two.submit()
    own = await two.claim()
    for wrong in (b"", b"[]", b"{", b"null"):
        with pytest.raises(ClusterRefused):
            await worker.finish(two.its, own, wrong)
    await worker.finish(two.its, own, RESULT)
    assert (await two.state()).result == RESULT


async def test_a_command_reaches_the_worker_and_what_became_of_it_the_caller(two: Two) -> None:
    await two.submit()
    own = await two.claim()
    news: asyncio.Queue[str] = asyncio.Queue()
    await two.its.listen(worker.channel_of_worker("w1"), news.put_nowait)
    assert await news.get() == ""
    number = await caller.command(two.ours, "r1", "steer", "Use the other file")
    assert await news.get() == "r1"
    assert await caller.command_status(two.ours, number) is None
    (found,) = await worker.commands_for(two.its, "w1")
    assert found == worker.Command(
        id=number, run_id="r1", attempt=own.attempt, kind="steer", content="Use the other file"
    )
    await worker.command_taken(two.its, number, "delivered")
    assert await caller.command_status(two.ours, number) == "delivered"
    assert await worker.commands_for(two.its, "w1") == []


async def test_a_run_that_nobody_took_is_stopped_without_a_worker(two: Two) -> None:
    await two.submit()
    number = await caller.command(two.ours, "r1", "stop")
    assert (await two.state()).state == "stopped"
    assert await caller.command_status(two.ours, number) == "done"
    assert two.jobs() == []
    assert await worker.claim(two.its, "w1", "r1") is None


async def test_a_worker_that_drains_gives_back_what_it_is_handed(two: Two) -> None:
    await two.submit()
    two.cluster.do("SELECT * FROM subagents.drain('name-of-w1', true)")
    assert await worker.claim(two.its, "w1", "r1") is None
    assert (await worker.hold(two.its, "w1", 0, [])).draining
    assert two.jobs() == ["r1 todo", "r1 todo"]
    assert (await two.claim("w2")).attempt == 1


async def test_a_run_is_requeued_by_hand_when_it_was_lost_and_not_when_it_has_a_result(
    two: Two,
) -> None:
    await two.submit()
    requeue = "SELECT * FROM subagents.requeue('r1', false)"
    assert two.cluster.do(requeue) == [("r1", "queued", False)]
    own = await two.claim()
    await worker.begin(two.its, own)
    assert two.cluster.do(requeue) == [("r1", "begun", False)]  # its worker is alive
    two.silence()
    await worker.sweep(two.its)
    assert two.cluster.do(requeue) == [("r1", "lost", True)]
    again = await two.claim("w2")
    assert again.attempt == 2
    await worker.finish(two.its, again, RESULT)
    assert two.cluster.do(requeue) == [("r1", "ended", False)]


async def test_a_run_that_is_requeued_by_force_is_taken_from_its_worker(two: Two) -> None:
    await two.submit()
    old = await two.claim()
    await worker.begin(two.its, old)
    assert two.cluster.do("SELECT * FROM subagents.requeue('r', true)") == [("r1", "begun", True)]
    assert (await two.claim("w2")).attempt == 2
    with pytest.raises(AttemptOver):
        await worker.finish(two.its, old, RESULT)


async def test_what_ended_long_ago_is_pruned_with_all_that_belongs_to_it(two: Two) -> None:
    await caller.submit(two.ours, "c1", [submission("r1"), submission("r2")], attached=True)
    for run_id in ("r1", "r2"):
        own = await two.claim(run_id=run_id)
        await worker.add_records(two.its, own, pieces(1, b"x"))
        await worker.finish(two.its, own, RESULT)
    old = "clock_timestamp() - interval '8 days'"
    two.cluster.do(f"UPDATE run SET ended_at = {old} WHERE id = 'r1'")
    two.cluster.do(f"UPDATE worker SET seen_at = {old} WHERE id = 'w2'")
    assert two.cluster.do("SELECT * FROM prunable('7 days')") == [(1, 0, 1)]
    assert two.cluster.do("SELECT * FROM prune('7 days', 10)") == [(1, 0, 1)]
    assert two.cluster.do("SELECT run_id FROM record") == [("r2",)]
    assert list(await caller.states(two.ours, ["r1", "r2"])) == ["r2"]
    await caller.fetched(two.ours, ["r2"])
    assert two.cluster.do("SELECT run_id FROM record") == []
    assert (await two.state("r2")).result == RESULT


async def test_a_worker_that_was_forgotten_is_asked_to_register_again(two: Two) -> None:
    await worker.unregister(two.its, "w1")
    assert await worker.hold(two.its, "w1", 0, []) == worker.StillHeld(
        known=False, draining=False, lost=()
    )
    with pytest.raises(ClusterRunUnknown):
        await worker.claim(two.its, "w1", "r1")
