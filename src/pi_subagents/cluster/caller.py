"""
What a caller asks of the cluster: to take runs, how they stand, what they wrote, to stop them.

Each question is put to a `Link`, or by its `_now` to a `ShortLink`; both share what is asked and
what is made of the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from pi_subagents.core.cluster.record import FilePiece
from pi_subagents.core.cluster.state import RunState
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pi_subagents.cluster.link import DatabaseRow, Link, ShortLink

CommandKind = Literal["stop", "kill", "steer", "answer"]


@value
class Submission:
    """A run that is handed over; `order` is a TravelOrder as ASCII JSON."""

    run_id: str
    session_id: str
    name: str
    order: bytes
    tag: str = "default"
    attempts_max: int = 1


def channel_of_call(call_id: str) -> str:
    """Return where news of a call's runs is announced, as `RUN NUMBER`."""
    return f"subagents_call_{call_id}"


async def submit(
    link: Link, call_id: str, submissions: Sequence[Submission], *, attached: bool
) -> dict[str, str]:
    """Hand runs over, at once; return why some were refused, by their ids."""
    refused: dict[str, str] = {}
    for some in _batches(submissions):
        rows = await link.call("submit", call_id, attached, *_arrays(some))
        refused |= {row["run_id"]: row["refused"] for row in rows if row["refused"]}
    return refused


def submit_now(
    look: ShortLink, call_id: str, submissions: Sequence[Submission], *, attached: bool
) -> dict[str, str]:
    """Do the same without an event loop."""
    refused: dict[str, str] = {}
    for some in _batches(submissions):
        rows = look.call("submit", call_id, attached, *_arrays(some))
        refused |= {row["run_id"]: row["refused"] for row in rows if row["refused"]}
    return refused


async def beat(link: Link, call_id: str) -> None:
    """Say that the caller is there: attached runs are stopped 30 s after the last time."""
    await link.call("beat_call", call_id)


async def states(link: Link, run_ids: Iterable[str]) -> dict[str, RunState]:
    """Return how runs stand, by id; what the cluster does not know (any more) is left out."""
    return _states(await link.call("run_states", list(run_ids)))


def states_now(look: ShortLink, run_ids: Iterable[str]) -> dict[str, RunState]:
    """Do the same without an event loop."""
    return _states(look.call("run_states", list(run_ids)))


async def records_after(link: Link, run_id: str, attempt: int, number: int) -> list[FilePiece]:
    """Return the next pieces of an attempt, in order; none where there are none yet."""
    return _pieces(await link.call("records_after", run_id, attempt, number))


def records_after_now(look: ShortLink, run_id: str, attempt: int, number: int) -> list[FilePiece]:
    """Do the same without an event loop."""
    return _pieces(look.call("records_after", run_id, attempt, number))


async def fetched(link: Link, run_ids: Iterable[str]) -> None:
    """Say that all of these ended runs is here: the database need not keep their records."""
    await link.call("fetched", list(run_ids))


def fetched_now(look: ShortLink, run_ids: Iterable[str]) -> None:
    """Do the same without an event loop."""
    look.call("fetched", list(run_ids))


async def command(link: Link, run_id: str, kind: CommandKind, content: str = "") -> int:
    """Have the run's worker do something; return the command's id."""
    (row,) = await link.call("command", uuid4().hex, run_id, kind, content)
    return int(row["command"])


def command_now(look: ShortLink, run_id: str, kind: CommandKind, content: str = "") -> int:
    """Do the same without an event loop."""
    (row,) = look.call("command", uuid4().hex, run_id, kind, content)
    return int(row["command"])


async def command_status(link: Link, command_id: int) -> str | None:
    """Return what its worker says became of a command; None while nobody has taken it."""
    return _status(await link.call("command_status", command_id))


def command_status_now(look: ShortLink, command_id: int) -> str | None:
    """Do the same without an event loop."""
    return _status(look.call("command_status", command_id))


def cluster_id_of(rows: list[DatabaseRow]) -> str:
    """Return which cluster answered `schema_version`."""
    return str(rows[0]["id"]) if rows else ""


MOST_AT_ONCE = 200


def _batches(submissions: Sequence[Submission]) -> Iterable[Sequence[Submission]]:
    return (
        submissions[start : start + MOST_AT_ONCE]
        for start in range(0, len(submissions), MOST_AT_ONCE)
    )


def _arrays(submissions: Sequence[Submission]) -> tuple[list[object], list[str]]:
    """Return what the database checks of each, and what is its worker's affair."""
    from psycopg.types.json import Jsonb

    outsides: list[object] = [
        Jsonb(
            {
                "runId": each.run_id,
                "sessionId": each.session_id,
                "name": each.name,
                "tag": each.tag,
                "attemptsMax": each.attempts_max,
            }
        )
        for each in submissions
    ]
    return outsides, [each.order.decode("ascii") for each in submissions]


def _states(rows: list[DatabaseRow]) -> dict[str, RunState]:
    return {
        row["run_id"]: RunState(
            **{**row, "result": None if row["result"] is None else row["result"].encode("ascii")}
        )
        for row in rows
    }


def _pieces(rows: list[DatabaseRow]) -> list[FilePiece]:
    return [FilePiece(**row) for row in rows]


def _status(rows: list[DatabaseRow]) -> str | None:
    status = rows[0]["command_status"] if rows else None
    return None if status is None else str(status)
