"""
Runs on disk without any process: finished ones, and ones that go on for as long as a test wants.

A run that goes on is held by a lock of this process, as its supervisor would hold it; letting go of
it without a result is what a killed supervisor does.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakes.driver import PATIENCE_S
from tests.fakes.records import with_facts

from pi_subagents.core.run.question import asked, waiting_for
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import replace
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.runs import Runs
from pi_subagents.store.run_log import RunLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pi_subagents.core.run import events as ev
    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.store.run_dir import RunDir

START_MS = 1_000_000


@dataclass
class GoingOn:
    """A run that somebody answers for: this test."""

    run_dir: RunDir
    lock: int
    log: RunLog
    result: RunResult

    def does(self, *events: ev.Event) -> None:
        for event in events:
            self.log.record(event, START_MS)

    def asks(self, text: str, *options: str) -> None:
        """Wait for an answer, as its supervisor would let it."""
        question = asked("1", text, options, 600)
        self.run_dir.desk.note_waits((waiting_for(question, START_MS),))
        self.does(question)

    def waits(self, waiting: WaitingFor) -> None:
        """Wait for what nobody can answer."""
        self.run_dir.desk.note_waits((waiting,))

    def ends(self, status: str = "completed", **facts: object) -> None:
        self.log.close()
        self.run_dir.write_result(replace(self.result, status=status, **facts))
        os.close(self.lock)

    def dies(self) -> None:
        """Leave without a result."""
        self.log.close()
        os.close(self.lock)


@dataclass
class FleetPlace:
    """A project with a home of its own."""

    path: Path
    env: dict[str, str]
    made: int = field(default=0)

    @property
    def runs(self) -> Runs:
        return Runs(self.path, self.env)

    def going_on(self, name: str, session: str = "", **meta: object) -> GoingOn:
        """Begin a run; it is known to the index, like every run of ours."""
        self.made += 1
        run_id = f"{self.made:04x}" + "0" * 28
        session = session or f"session-{self.made}"
        runs = self.runs
        runs.store.prepare()
        run_dir = runs.store.run_dir(run_id)
        created = START_MS + self.made
        facts = {
            "schemaVersion": 1, "runId": run_id, "sessionId": session, "name": name,
            "cwd": str(self.path), "createdAt": created, "startedAt": created, "attached": True, **meta,
        }  # fmt: skip
        lock = run_dir.begin(facts, b"")
        runs.index.add([(run_id, session, str(run_dir.path), created, False)])
        result = RunResult(
            run_id, session, name, "completed",
            model="mini", started_at_ms=created, finished_at_ms=created + 1000, duration_ms=1000,
        )  # fmt: skip
        return GoingOn(run_dir, lock, RunLog(run_dir, name), result)

    def finished(self, name: str, session: str = "", **facts: object) -> RunDir:
        run = self.going_on(name, session)
        run.ends(**facts)  # type: ignore[arg-type]  # facts by name
        return run.run_dir


class Following:
    """A fleet that is followed in a thread, and a test that waits for what it shows."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.changes = 0
        self._changed = threading.Condition()

    def change(self) -> None:
        with self._changed:
            self.changes += 1
            self._changed.notify_all()

    def until(self, seen: Callable[[dict[str, RunRecord]], bool]) -> dict[str, RunRecord]:
        """Return the rows by name, as soon as something is true of them."""
        with self._changed:
            arrived = self._changed.wait_for(
                lambda: self.changes and seen(self.rows()), timeout=PATIENCE_S
            )
        assert arrived, f"never so: {self.rows()}"
        return self.rows()

    def rows(self) -> dict[str, RunRecord]:
        return {row.name: row for row in self.fleet.rows}


@contextmanager
def following(place: FleetPlace, *, machine: bool = False) -> Iterator[Following]:
    """Follow the runs of a place; no thread is left."""
    followed = Following(Fleet(place.runs, place.env, machine=machine))
    thread = threading.Thread(target=followed.fleet.follow, args=(followed.change,))
    thread.start()
    try:
        followed.until(lambda _: True)
        yield followed
    finally:
        followed.fleet.close()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def settled(row: RunRecord) -> RunRecord:
    """Return a record without where it is on this machine."""
    return with_facts(row, path="", desk="", cwd="")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


USAGE = Usage(input=1000, output=234, total_tokens=1234, cost=0.5)
