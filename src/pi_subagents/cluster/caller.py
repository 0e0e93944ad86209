"""
What a caller asks of the cluster: to take runs, how they stand, what they wrote, to stop them.

Each function exists once and is asked through a `Link` or a `Look`: it returns the question, and
what to make of the answer, so that both ways share every word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pi_subagents.cluster.link import Link, Look, Row

CommandKind = Literal["stop", "kill", "steer", "answer"]
STATES = QUEUED, CLAIMED, BEGUN, ENDED, LOST, STOPPED = (
    "queued",
    "claimed",
    "begun",
    "ended",
    "lost",
    "stopped",
)
OVER = (ENDED, LOST, STOPPED)


@value
class Submission:
    """A run that is handed over; `order` is a TravelOrder as JSON."""

    run_id: str
    session_id: str
    name: str
    order: Mapping[str, object]
    tag: str = "default"
    attempts_max: int = 1


@value
class RunState:
    """How a run stands in the cluster; times are the database's, in milliseconds since 1970."""

    run_id: str
    state: str
    attempt: int
    worker: str  # its name; empty where nobody has it
    host: str
    last_number: int  # of the attempt's records
    result: Mapping[str, Any] | None
    reason: str  # why it ended without a result
    submitted_ms: int
    begun_ms: int | None
    ended_ms: int | None
    behind: int  # how many runs of its tag come before it in the queue


@value
class Piece:
    """Bytes that belong at a place of one of the run's files; the last one is its number."""

    number: int
    file: str
    place: int
    data: bytes


def channel_of_call(call_id: str) -> str:
    """Return where news of a call's runs is announced, as `RUN NUMBER`."""
    return f"subagents_call_{call_id}"


async def submit(
    link: Link, call_id: str, submissions: Sequence[Submission], *, attached: bool
) -> dict[str, str]:
    """Hand runs over, at once; return why some were refused, by their ids."""
    from psycopg.types.json import Jsonb

    refused: dict[str, str] = {}
    for some in _batches(submissions):
        rows = await link.call("submit", call_id, attached, [Jsonb(_json(each)) for each in some])
        refused |= {row["run_id"]: row["refused"] for row in rows if row["refused"]}
    return refused


def submit_now(
    look: Look, call_id: str, submissions: Sequence[Submission], *, attached: bool
) -> dict[str, str]:
    """Do the same without an event loop."""
    from psycopg.types.json import Jsonb

    refused: dict[str, str] = {}
    for some in _batches(submissions):
        rows = look.call("submit", call_id, attached, [Jsonb(_json(each)) for each in some])
        refused |= {row["run_id"]: row["refused"] for row in rows if row["refused"]}
    return refused


async def beat(link: Link, call_id: str) -> None:
    """Say that the caller is there: attached runs are stopped 30 s after the last time."""
    await link.call("beat_call", call_id)


async def states(link: Link, run_ids: Iterable[str]) -> dict[str, RunState]:
    """Return how runs stand, by id; what the cluster does not know (any more) is left out."""
    return _states(await link.call("run_states", list(run_ids)))


def states_now(look: Look, run_ids: Iterable[str]) -> dict[str, RunState]:
    """Do the same without an event loop."""
    return _states(look.call("run_states", list(run_ids)))


async def records_after(link: Link, run_id: str, attempt: int, number: int) -> list[Piece]:
    """Return the next pieces of an attempt, in order; none where there are none yet."""
    return _pieces(await link.call("records_after", run_id, attempt, number))


def records_after_now(look: Look, run_id: str, attempt: int, number: int) -> list[Piece]:
    """Do the same without an event loop."""
    return _pieces(look.call("records_after", run_id, attempt, number))


async def fetched(link: Link, run_ids: Iterable[str]) -> None:
    """Say that all of these ended runs is here: the database need not keep their records."""
    await link.call("fetched", list(run_ids))


def fetched_now(look: Look, run_ids: Iterable[str]) -> None:
    """Do the same without an event loop."""
    look.call("fetched", list(run_ids))


async def command(link: Link, run_id: str, kind: CommandKind, content: str = "") -> int:
    """Have the run's worker do something; return the command's id."""
    (row,) = await link.call("command", uuid4().hex, run_id, kind, content)
    return int(row["command"])


def command_now(look: Look, run_id: str, kind: CommandKind, content: str = "") -> int:
    """Do the same without an event loop."""
    (row,) = look.call("command", uuid4().hex, run_id, kind, content)
    return int(row["command"])


async def command_status(link: Link, command_id: int) -> str | None:
    """Return what its worker says became of a command; None while nobody has taken it."""
    return _status(await link.call("command_status", command_id))


def command_status_now(look: Look, command_id: int) -> str | None:
    """Do the same without an event loop."""
    return _status(look.call("command_status", command_id))


def cluster_id_of(rows: list[Row]) -> str:
    """Return which cluster answered `schema_version`."""
    return str(rows[0]["id"]) if rows else ""


MOST_AT_ONCE = 200


def _batches(submissions: Sequence[Submission]) -> Iterable[Sequence[Submission]]:
    return (
        submissions[start : start + MOST_AT_ONCE]
        for start in range(0, len(submissions), MOST_AT_ONCE)
    )


def _json(each: Submission) -> dict[str, object]:
    return {
        "runId": each.run_id,
        "sessionId": each.session_id,
        "name": each.name,
        "tag": each.tag,
        "attemptsMax": each.attempts_max,
        "order": dict(each.order),
    }


def _states(rows: list[Row]) -> dict[str, RunState]:
    return {row["run_id"]: RunState(**row) for row in rows}


def _pieces(rows: list[Row]) -> list[Piece]:
    return [Piece(**row) for row in rows]


def _status(rows: list[Row]) -> str | None:
    status = rows[0]["command_status"] if rows else None
    return None if status is None else str(status)
