"""
Three workers and what may happen to them: each thing at a certain number of runs that have ended.

What has to hold afterwards is looked at by `wrong`, in the database and in every worker's own
directories: no run lost without a reason, none begun twice, nothing left behind.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.fakes.auditor import audit, read_journal
from tests.fakes.cluster_worker import BEGUN, LIMIT_S, Caller, WorkerProcess, result_of

from pi_subagents.core.cluster.state import LOST, OVER
from pi_subagents.core.run import events as ev
from pi_subagents.service.cluster.worker_place import WorkerPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.fakes.cluster_server import TestCluster

    from pi_subagents.core.cluster.order import TravelOrder
    from pi_subagents.core.cluster.state import RunState

NAMES = ("one", "two", "three")
# Put into a worker's Python, whose clock is then an hour ahead.
AN_HOUR_AHEAD = """
import time
_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + 3600
time.time_ns = lambda: _time_ns() + 3600 * 10**9
"""


class Storm:
    """One cluster in bad weather."""

    def __init__(self, root: Path, cluster: TestCluster) -> None:
        self.root, self.cluster = root, cluster
        self.workers: dict[str, WorkerProcess] = {}
        self.caller = Caller(cluster)
        self._started: list[WorkerProcess] = []
        self._killed = 0
        self._more: dict[str, Any] = {}

    def start(self, *arguments: str, **more: Any) -> None:
        """Start all three; the clock of the last one is an hour ahead."""
        self._arguments, self._more = arguments, more
        wrong_clock = self.root / "an-hour-ahead"
        wrong_clock.mkdir()
        (wrong_clock / "sitecustomize.py").write_text(AN_HOUR_AHEAD)
        for name in NAMES:
            self.begin(name)

    def begin(self, name: str) -> None:
        """Start a worker, again or for the first time."""
        path = {"PYTHONPATH": str(self.root / "an-hour-ahead")} if name == NAMES[-1] else {}
        address = self.cluster.text("worker")
        process = WorkerProcess(
            self.root / "homes", address, name, *self._arguments, variables=path, **self._more
        )
        self._started.append(process)
        process.wait_for(BEGUN)
        self.workers[name] = process

    # What may happen

    def kill_worker(self, name: str) -> None:
        """Kill one as the machine's power switch would, and start it again."""
        self.workers[name].signal(signal.SIGKILL)
        self.workers[name].ended()
        self._killed += 1
        self.begin(name)

    def cut_connections(self) -> None:
        """End every connection of workers."""
        self.cluster.do(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'"
        )

    def restart_database(self, *, at_once: bool) -> None:
        """Stop PostgreSQL, in order or as a crash would, and start it again."""
        self.caller.close()
        self.cluster.server.stop(at_once=at_once)
        self.cluster.server.start()
        self.caller = self.caller.again()

    # What is done meanwhile

    def weather(
        self, orders: Sequence[TravelOrder], happenings: Mapping[int, Callable[[], None]]
    ) -> dict[str, RunState]:
        """Have all orders done; at each number of ended runs, let that happen."""
        at_work = set(self.caller.submit(*orders))
        waiting = dict(sorted(happenings.items()))
        ended: dict[str, RunState] = {}
        while True:
            states = self.caller.states(at_work)
            ended |= {run_id: each for run_id, each in states.items() if each.state in OVER}
            at_work -= ended.keys()
            if waiting and len(ended) >= next(iter(waiting)):
                waiting.pop(next(iter(waiting)))()
            elif at_work:
                self.caller.next_news(LIMIT_S)
            else:
                assert not waiting, "something never happened"
                return ended

    def wrong(self, found: Mapping[str, RunState], answer_of: Callable[[str], str]) -> list[str]:
        """Return every broken promise, in sentences."""
        for process in self.workers.values():
            process.end()
        return [
            *self._wrong_ends(found, answer_of),
            *(
                f"{run_id} was begun {times} times"
                for run_id, times in self._begun().items()
                if times > 1
            ),
            *self._left(),
        ]

    def _wrong_ends(
        self, found: Mapping[str, RunState], answer_of: Callable[[str], str]
    ) -> Iterator[str]:
        for run_id, state in found.items():
            if state.state == LOST:
                if "was not heard of" not in state.reason or state.result is not None:
                    yield f"{run_id} is lost with {state.reason!r}"
                continue
            result = result_of(state)
            if result.status == "completed" and result.output != answer_of(run_id):
                yield f"{run_id} answered {result.output!r}"
            if result.status != "completed" and not result.error_message:
                yield f"{run_id} is {result.status} without a reason"

    def _begun(self) -> Counter[str]:
        """Return how often the prompt of each run was given, on all workers together."""
        begun: Counter[str] = Counter()
        for place in self.places():
            store = place.runs(os.environ).store
            for run_dir in store.runs():
                entries = read_journal(run_dir, finished=False)
                begun[run_dir.run_id] += any(isinstance(e.event, ev.UserMessage) for e in entries)
        return begun

    def _left(self) -> Iterator[str]:
        for place in self.places():
            runs = place.runs({**os.environ, "HOME": str(place.home)})
            runs.recover(thorough=True)
            yield from audit(runs.store)

    def places(self) -> list[WorkerPlace]:
        """Return where each worker has its runs."""
        return [WorkerPlace(process.place) for process in self.workers.values()]

    def end(self) -> None:
        """Leave nothing behind."""
        self.caller.close()
        for process in self._started:
            process.end()
