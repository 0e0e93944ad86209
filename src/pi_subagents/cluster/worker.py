"""
What a worker asks of the cluster: to have a run, to say what it does, to end it.

Every question names the attempt; `AttemptOver` says that it counts no more, and whoever hears that
ends the child and keeps what there is to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.cluster.link import Link
    from pi_subagents.core.cluster.record import FilePiece


@value
class WorkerEntry:
    """A worker as the cluster knows it; `trusts` are roles whose orders it takes, empty: any."""

    id: str
    host: str
    name: str
    tags: tuple[str, ...]
    concurrency: int
    versions: Mapping[str, str]
    trusts: tuple[str, ...] = ()


@value
class ClaimedRun:
    """A run that is this worker's own, in that attempt, until the database says otherwise."""

    run_id: str
    attempt: int
    order: bytes
    session_id: str
    name: str
    call_id: str
    attached: bool
    submitter: str  # the role that submitted it, as the database knows it


@value
class StillHeld:
    """What the database answers to a heartbeat."""

    known: bool  # otherwise the worker has to register again
    draining: bool  # it is to take no more runs
    lost: tuple[str, ...]  # runs that are not its own any more


@value
class Command:
    """Something that the submitter wants done; `kind` is stop, kill, steer or answer."""

    id: int
    run_id: str
    attempt: int
    kind: str
    content: str


def channel_of_worker(worker_id: str) -> str:
    """Return where a worker hears of commands, as `RUN`, and that it is to drain, as ``."""
    from hashlib import md5

    return "subagents_worker_" + md5(worker_id.encode(), usedforsecurity=False).hexdigest()


async def register(link: Link, entry: WorkerEntry) -> None:
    """Say that the worker is there, or is there again."""
    from psycopg.types.json import Jsonb

    await link.call(
        "register",
        entry.id,
        entry.host,
        entry.name,
        list(entry.tags),
        entry.concurrency,
        Jsonb(dict(entry.versions)),
        list(entry.trusts),
    )


async def unregister(link: Link, worker_id: str) -> None:
    """Say that the worker has ended; it stays listed while a run is still its own."""
    await link.call("unregister", worker_id)


async def claim(link: Link, worker_id: str, run_id: str) -> ClaimedRun | None:
    """Take a run, if it is to be had: exactly one of all that ask gets it."""
    rows = await link.call("claim", run_id, worker_id, uuid4().hex)
    if not rows:
        return None
    (row,) = rows
    return ClaimedRun(run_id=run_id, order=row.pop("travel_order").encode("ascii"), **row)


async def begin(link: Link, own: ClaimedRun) -> None:
    """To be called before the prompt is given: from then on the run begins nowhere else."""
    await link.call("begin_run", own.run_id, own.attempt)


async def give_back(link: Link, own: ClaimedRun) -> None:
    """Leave a run that was not begun to another worker."""
    await link.call("give_back", own.run_id, own.attempt)


async def add_records(link: Link, own: ClaimedRun, pieces: Sequence[FilePiece]) -> None:
    """Add pieces with consecutive numbers, from 1 in each attempt; what is there stays."""
    if pieces:
        await link.call(
            "add_records",
            own.run_id,
            own.attempt,
            pieces[0].number,
            [each.file for each in pieces],
            [each.place for each in pieces],
            [each.data for each in pieces],
        )


async def finish(link: Link, own: ClaimedRun, result: bytes) -> None:
    """Give the run's one result, as ASCII JSON."""
    await link.call("finish", own.run_id, own.attempt, result.decode("ascii"))


async def refuse(link: Link, own: ClaimedRun, reason: str, result: bytes) -> None:
    """End a run whose order is not carried out here, and have that noted for the operator."""
    await link.call("refuse_order", own.run_id, own.attempt, reason, result.decode("ascii"))


async def hold(link: Link, worker_id: str, busy: int, own: Sequence[ClaimedRun]) -> StillHeld:
    """Say every five seconds that the worker and its runs are there."""
    ids, attempts = [each.run_id for each in own], [each.attempt for each in own]
    (row,) = await link.call("hold", worker_id, busy, ids, attempts)
    return StillHeld(known=row["known"], draining=row["draining"], lost=tuple(row["lost"]))


async def commands_for(link: Link, worker_id: str) -> list[Command]:
    """Return what is to be done with the worker's runs, oldest first."""
    return [Command(**row) for row in await link.call("commands_for", worker_id)]


async def command_taken(link: Link, command_id: int, status: str) -> None:
    """Say what became of a command, in a word or a sentence."""
    await link.call("command_taken", command_id, status)


@value
class Swept:
    """What a sweep did: runs that are queued again, lost, or told to stop."""

    queued: int
    lost: int
    stopped: int


async def sweep(link: Link) -> Swept:
    """Look after runs of workers and callers that were not heard of for 30 seconds."""
    (row,) = await link.call("sweep")
    return Swept(**row)
