"""A thousand finished runs: listing, recovering, finding one, and building the index anew."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from measuring import Figure, Place, Target, cost_of, interleaved, progress, timed_ms

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.run.spec import ChildOrder, RunLimits, RunSpec
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.service.runs import Runs
from pi_subagents.store.local_order import LocalOrder, PlaceOrder
from pi_subagents.store.provider_limits import ProviderLimits
from pi_subagents.store.run_index import FILE_NAME
from pi_subagents.store.run_log import RunLog
from pi_subagents.store.run_store import new_run_id, new_session_id
from pi_subagents.supervisor.admission.entering import Admission

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLI = (sys.executable, "-c", "from pi_subagents.faces.cli.main import main; main()")
LEDGER = "noting one in the ledger"
ADMISSION = "admission of one: a place, no limit of its provider"
SCAN = "Runs().newest(): every run read"


def measure(place: Place) -> list[Figure]:
    """Return how long each look takes, with warm caches, over finished runs."""
    count = place.amount(1000, 200, 20)
    section = f"Store of {count:,} runs"
    cwd, data = place.path / "store", place.path / "store-data"
    (cwd / ".pi").mkdir(parents=True)
    placed = replace(place, project=cwd, env={**place.env, "PI_SUBAGENTS_DATA": str(data)})

    def runs() -> Runs:
        return Runs(cwd, placed.env)

    progress(f"{section}: making them")
    made = timed_ms(partial(make_runs, runs(), count))
    wanted = runs().store.runs()[count // 2].run_id
    sides = {
        SCAN: lambda: timed_ms(lambda: list(runs().newest())),
        "Runs().recover(): all have ended": lambda: timed_ms(lambda: runs().recover()),
        "Runs().find(): one by its id": lambda: timed_ms(lambda: runs().find(wanted)),
        "subagents runs --json": lambda: cost_of((*CLI, "runs", "--json"), placed).wall_ms,
        "subagents runs --json --all": lambda: (
            cost_of((*CLI, "runs", "--json", "--all"), placed).wall_ms
        ),
    }
    times = interleaved(place.rounds(7), sides, section)
    progress(f"{section}: after the index was lost")
    lost = tuple(_after_loss(data / FILE_NAME, runs) for _ in range(place.rounds(3)))
    return [
        *(
            Figure(section, name, "ms", times[name], Target(1000) if name is SCAN else None)
            for name in sides
        ),
        Figure(section, "Runs().recover() after the index was lost", "ms", lost),
        Figure(section, "making one: directory, journal, result", "ms", (made / count,)),
        Figure(section, LEDGER, "ms", _noting(runs(), place.rounds(100)), Target(2)),
        Figure(section, ADMISSION, "ms", _admitting(data, place.rounds(100)), Target(2)),
    ]


def make_runs(runs: Runs, count: int) -> None:
    """Make finished runs as delegations leave them, without the processes."""
    runs.store.prepare()
    rows = []
    for number in range(count):
        run_id, session_id, now = new_run_id(), new_session_id(), time.time_ns() // 1_000_000
        run_dir = runs.store.run_dir(run_id)
        meta = {
            "schemaVersion": 1,
            "runId": run_id,
            "sessionId": session_id,
            "name": f"task {number}",
            "task": "Count the Python files in src. " * 20,
            "argv": ["pi", "--mode", "json", "-p", "--no-session"],
            "createdAt": now,
            "startedAt": now,
            "seal": runs.seal(run_dir),
        }
        lock = run_dir.begin(meta, b"Count the Python files in src.")
        log = RunLog(run_dir, "bench")
        for event in (
            ev.StateChanged("running"),
            ev.UserMessage("Count"),
            ev.AssistantMessage("There are 80 of them. " * 20, stop_reason="stop", usage=Usage()),
            ev.Settled(),
            ev.StateChanged("completed"),
        ):
            log.record(event, now)
        log.close()
        output = "There are 80 of them. " * 20
        run_dir.write_result(
            RunResult(
                run_id,
                session_id,
                f"task {number}",
                "completed",
                output,
                exit_code=0,
                finished_at_ms=now,
            )
        )
        os.close(lock)
        rows.append((run_id, session_id, str(run_dir.path), now, False))
    runs.index.add(rows)
    runs.index.mark_ended(run_id for run_id, *_ in rows)


def _noting(runs: Runs, rounds: int) -> tuple[float, ...]:
    """Return how long it takes to count each of some runs, as at its end."""
    runs.ledger.rebuild()
    return tuple(timed_ms(partial(runs.ledger.note, [each])) for each in runs.store.runs()[:rounds])


def _admitting(data: Path, rounds: int) -> tuple[float, ...]:
    """Return how long it takes to let a child in, after a limit that ended long ago, and out."""
    child = ChildOrder(("pi",), "/", "pi", provider="acme", account="0")
    spec = RunSpec("a", "a", "a", child, limits=RunLimits(max_children=16, max_of_provider=8))
    where = PlaceOrder(desk=str(data / "desks" / "a"), slots_dir=str(data / "slots"))
    ProviderLimits(data, "acme", "0").note(1, 0)

    def admit() -> None:
        admission = Admission(LocalOrder(spec, where), lambda _: None, lambda _: None)
        admission.enter(lambda _: False)
        admission.leave()

    return tuple(timed_ms(admit) for _ in range(rounds))


def _after_loss(index: Path, runs: Callable[[], Runs]) -> float:
    for leftover in index.parent.glob(f"{index.name}*"):
        leftover.unlink()
    return timed_ms(lambda: runs().recover())
