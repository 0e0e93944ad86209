"""Runs for tests of a cluster's database: what a caller hands over, what a worker says of itself."""

from __future__ import annotations

from pi_subagents.cluster.caller import Submission
from pi_subagents.cluster.worker import WorkerEntry
from pi_subagents.core.cluster.record import FilePiece


def submission(run_id: object = "r1", **fields: object) -> Submission:
    known: dict[str, object] = {
        "run_id": run_id,
        "session_id": "s1",
        "name": "count",
        "order": b'{"v": 1}',
    }
    return Submission(**{**known, **fields})  # type: ignore[arg-type]


def entry(worker_id: str = "w1", **fields: object) -> WorkerEntry:
    known: dict[str, object] = {
        "host": "far", "name": f"name-of-{worker_id}", "tags": ("default",), "concurrency": 2,
        "versions": {"pi-subagents": "1"},
    }  # fmt: skip
    return WorkerEntry(id=worker_id, **{**known, **fields})  # type: ignore[arg-type]


def pieces(first: int, *lines: bytes) -> list[FilePiece]:
    return [
        FilePiece(number=first + i, file="events.jsonl", place=100 * i, data=line)
        for i, line in enumerate(lines)
    ]
