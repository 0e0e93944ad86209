"""Who may do what in a cluster's database; who submitted a run is what the database knows."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
from tests.fakes.cluster_runs import entry, pieces, submission

from pi_subagents.cluster import caller, worker
from pi_subagents.cluster.failures import CALLED_BY
from pi_subagents.cluster.link import Link, ShortLink
from pi_subagents.errors.cluster import (
    AttemptOver,
    ClusterNotMade,
    ClusterRefused,
    ClusterRoleLacking,
    ClusterRunUnknown,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.fakes.cluster_server import TestCluster

NULLS = {
    "add_records": 6, "begin_run": 2, "beat_call": 1, "claim": 3, "command": 4, "command_status": 1,
    "command_taken": 2, "commands_for": 1, "drain": 2, "fetched": 1, "finish": 3, "give_back": 2,
    "hold": 4, "overview": 1, "pack_part": 2, "packs_there": 1, "prune": 2, "prunable": 1, "put_pack_part": 5,
    "records_after": 3, "refuse_order": 4, "register": 7, "requeue": 2, "run_states": 1,
    "schema_version": 0, "submit": 4, "sweep": 0, "unregister": 1,
}  # fmt: skip
OF_USER = {"caller": "subagents_submit", "worker": "subagents_work", "looker": "subagents_look"}
INNER = {
    "queue_run", "drop_job", "tell_caller", "tell_worker", "queue_again", "end_run", "own_run",
    "submitted_run", "as_ms", "is_object", "is_idle", "order_problem",
}  # fmt: skip


@pytest.fixture
async def links(cluster: TestCluster) -> AsyncIterator[dict[str, Link]]:
    async with AsyncExitStack() as stack:
        found = {}
        for user in ("caller", "other_caller", "worker", "other_worker"):
            found[user] = await Link.open(cluster.address(user), user)
            stack.push_async_callback(found[user].close)
        await worker.register(found["worker"], entry("w1"))
        await caller.submit(found["caller"], "c1", [submission("r1")], attached=True)
        yield found


def test_every_function_is_named_with_those_who_may_call_it(cluster: TestCluster) -> None:
    rows = cluster.do(
        "SELECT DISTINCT proname::text FROM pg_proc WHERE pronamespace = 'subagents'::regnamespace"
    )
    assert {str(row[0]) for row in rows} == {*CALLED_BY, *INNER}
    assert NULLS.keys() == CALLED_BY.keys()


@pytest.mark.parametrize("user", ["caller", "worker", "looker", "stranger"])
def test_whoever_lacks_the_role_is_refused_by_the_database(cluster: TestCluster, user: str) -> None:
    refused = set()
    with ShortLink(cluster.address(user), "roles") as link:
        for function, count in NULLS.items():
            if OF_USER.get(user) in CALLED_BY[function]:
                continue
            with pytest.raises((ClusterRoleLacking, ClusterNotMade)):
                link.call(function, *[None] * count)
            refused.add(function)
    mine = {name for name, roles in CALLED_BY.items() if OF_USER.get(user) in roles}
    assert refused == NULLS.keys() - mine


@pytest.mark.parametrize("user", ["caller", "worker", "looker", "stranger"])
def test_nobody_but_the_owner_reaches_a_table_or_an_inner_function(
    cluster: TestCluster, user: str
) -> None:
    import psycopg

    tables = ["cluster", "call", "run", "record", "command", "worker", "pack", "pack_part", "refused_order"]  # fmt: skip
    queue = [] if user == "worker" else ["procrastinate_jobs", "procrastinate_events"]
    with psycopg.connect(cluster.text(user), autocommit=True) as connection:
        for statement in (
            *(f"SELECT * FROM subagents.{table}" for table in tables),
            *(f"DELETE FROM subagents.{table}" for table in tables),
            *(f"SELECT * FROM subagents_queue.{table}" for table in queue),
            "SELECT subagents.end_run('r1', 'ended', '')",
            "SELECT subagents.queue_again('r1')",
            "SELECT subagents.tell_worker('w1', '')",
            "CREATE TABLE subagents.mine ()",
            "CREATE FUNCTION subagents.pg_notify(text, text) RETURNS void LANGUAGE sql AS ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_the_refusal_names_the_role_that_is_needed(cluster: TestCluster) -> None:
    with ShortLink(cluster.address("caller"), "roles") as link:
        with pytest.raises(ClusterRoleLacking) as found:
            link.call("overview", 1)
        assert str(found.value) == (
            f"The cluster at {cluster.address('caller')} refuses that: it takes the role "
            "subagents_look. The owner of the database gives it: GRANT subagents_look TO caller;"
        )


async def test_a_run_is_its_submitters_alone(links: dict[str, Link]) -> None:
    other = links["other_caller"]
    assert await caller.states(other, ["r1"]) == {}
    for question in (
        caller.command(other, "r1", "stop"),
        caller.records_after(other, "r1", 1, 0),
        caller.submit(other, "c1", [submission("r2")], attached=True),
    ):
        with pytest.raises(ClusterRunUnknown):
            await question
    await caller.fetched(other, ["r1"])
    refused = await caller.submit(other, "c2", [submission("r1")], attached=True)
    assert refused == {"r1": "there is another run with this id"}
    assert (await caller.states(links["caller"], ["r1"]))["r1"].state == "queued"


async def test_a_worker_is_its_roles_alone(links: dict[str, Link]) -> None:
    other = links["other_worker"]
    for question in (
        worker.claim(other, "w1", "r1"),
        worker.register(other, entry("w1")),
    ):
        with pytest.raises(ClusterRunUnknown):
            await question
    own = await worker.claim(links["worker"], "w1", "r1")
    assert own is not None
    assert own.submitter == "caller"
    for late in (
        worker.begin(other, own),
        worker.add_records(other, own, pieces(1, b"x")),
        worker.finish(other, own, b"{}"),
    ):
        with pytest.raises(AttemptOver):
            await late
    assert not (await worker.hold(other, "w1", 1, [own])).known
    assert await worker.commands_for(other, "w1") == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"run_id": "../x"}, "its id"), ({"run_id": ""}, "its id"),
     ({"session_id": "a b"}, "the id of its session"), ({"name": "a\nb"}, "its name"),
     ({"name": "a" * 201}, "its name"), ({"tag": "GPU"}, "its tag"), ({"tag": "a'; --"}, "its tag"),
     ({"attempts_max": 0}, "its number of attempts"), ({"attempts_max": 11}, "its number of attempts"),
     ({"order": b"[]"}, "it has no order"), ({"order": b"{"}, "it has no order"),
     ({"order": b'{"a": "%s"}' % (b"x" * 16 * 1024 * 1024)}, "it is larger than 16 MB")],
)  # fmt: skip
async def test_an_order_that_is_none_is_refused_and_noted_and_the_others_are_taken(
    cluster: TestCluster, links: dict[str, Link], wrong: dict[str, object], reason: str
) -> None:
    both = [submission(**{"run_id": "bad", **wrong}), submission("good")]
    refused = await caller.submit(links["caller"], "c1", both, attached=True)
    assert refused == {both[0].run_id: reason}
    assert cluster.do("SELECT run_id, submitter::text, refused_by, reason FROM subagents.refused_order") == [
        (both[0].run_id, "caller", "the database", reason)
    ]  # fmt: skip
    assert (await caller.states(links["caller"], ["good"]))["good"].state == "queued"


async def test_an_order_that_a_worker_refuses_ends_with_its_reason_and_is_noted(
    cluster: TestCluster, links: dict[str, Link]
) -> None:
    own = await worker.claim(links["worker"], "w1", "r1")
    assert own is not None
    await worker.refuse(links["worker"], own, 'unknown field "argv"', b'{"status": "failed"}')
    (state,) = (await caller.states(links["caller"], ["r1"])).values()
    assert (state.state, state.result) == ("ended", b'{"status": "failed"}')
    assert cluster.do("SELECT submitter::text, refused_by, reason FROM subagents.refused_order") == [
        ("caller", "w1", 'unknown field "argv"')
    ]  # fmt: skip


async def test_a_call_or_worker_of_an_impossible_name_is_refused(links: dict[str, Link]) -> None:
    with pytest.raises(ClusterRefused, match="a call of this name or size is refused"):
        await caller.submit(links["caller"], "a call; --", [submission("r2")], attached=True)
    with pytest.raises(ClusterRefused, match="a worker of this name or size is refused"):
        await worker.register(links["worker"], entry("w; --"))
    with pytest.raises(ClusterRefused, match="a command of that size is refused"):
        await caller.command(links["caller"], "r1", "steer", "x" * (1024 * 1024 + 1))
