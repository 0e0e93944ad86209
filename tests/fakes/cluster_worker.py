"""
A worker of a cluster as a process of its own, and a caller that hands it runs without any of ours.

A worker has a home of its own and shares nothing with the caller but the database.  Its children
are quick ones (quick_child.py) unless it is told otherwise.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tests.fakes.many_tasks import QUICK_PI_COMMAND

from pi_subagents.cluster.caller import (
    Submission,
    channel_of_call,
    command_now,
    command_status_now,
    records_after_now,
    states_now,
    submit_now,
)
from pi_subagents.cluster.link import ShortLink
from pi_subagents.core.cluster.order import TravelOrder, TravelWork
from pi_subagents.core.cluster.order_json import order_to_bytes
from pi_subagents.core.cluster.state import OVER
from pi_subagents.core.run.journal import decode_entry
from pi_subagents.core.run.result import RunResult, result_from_json
from pi_subagents.core.run.spec import RunLimits

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from psycopg import Connection
    from tests.fakes.cluster_server import TestCluster

    from pi_subagents.cluster.caller import CommandKind
    from pi_subagents.core.cluster.state import RunState

LIMIT_S = 120.0
BEGUN = "takes"  # what a worker says first has this in it


class WorkerProcess:
    """`subagents worker`, with what it says."""

    def __init__(
        self,
        root: Path,
        address: str,
        name: str,
        *arguments: str,
        pi: str = QUICK_PI_COMMAND,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.home, self.name = root / name, name
        self.home.mkdir(parents=True, exist_ok=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PI_SUBAGENTS_PI": pi,
            "PI_SUBAGENTS_CLUSTER": address,
            "PYTHONDONTWRITEBYTECODE": "1",
            **(variables or {}),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pi_subagents", "worker", "--name", name, *arguments],
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def place(self) -> Path:
        """Return where it keeps its runs."""
        return self.home / ".local/share/pi-subagents/workers" / self.name

    @property
    def runs_dir(self) -> Path:
        return self.place / ".pi/subagents/runs"

    def wait_for(self, words: str) -> str:
        """Return the next line that has these words in it."""
        while (line := self._lines.get(timeout=LIMIT_S)) is not None:
            if words in line:
                return line
        raise AssertionError(f"{self.name} never said {words!r}, but: {self.said}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; return its exit code."""
        code = self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        return code

    def end(self) -> None:
        """End it as an operator would who is in a hurry."""
        try:
            for _ in range(30):
                if self.process.poll() is not None:
                    break
                self.process.terminate()  # two that come together count as one
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(1)
        finally:
            self.process.kill()
            self.process.wait()
        self._reader.join(LIMIT_S)
        if self.process.stderr:
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip())
            self._lines.put(line.rstrip())
        self._lines.put(None)


@contextmanager
def worker(
    root: Path, address: str, name: str = "one", *arguments: str, **more: Any
) -> Iterator[WorkerProcess]:
    """Have a worker that takes runs, and end it afterwards."""
    process = WorkerProcess(root, address, name, *arguments, **more)
    try:
        process.wait_for(BEGUN)
        yield process
    finally:
        process.end()


def an_order(prompt: str = "Hello", **fields: Any) -> TravelOrder:
    """Return an order of a run that nobody has heard of yet."""
    own = {name: fields.pop(name) for name in list(fields) if name in TravelOrder.__match_args__}
    work = TravelWork(name="task-1", prompt=prompt, **fields)
    known = {"limits": RunLimits(timeout_s=60.0), **own}
    return TravelOrder(
        run_id=os.urandom(16).hex(), session_id=os.urandom(8).hex(), work=work, **known
    )


class Caller:
    """One call: it hands over orders, and sees what comes back."""

    def __init__(self, cluster: TestCluster, user: str = "caller") -> None:
        self._look = ShortLink(cluster.address(user), "test")
        self._text = cluster.text(user)
        self._cluster, self._user = cluster, user
        self._ears: Connection | None = None
        self.call_id = os.urandom(16).hex()

    def close(self) -> None:
        self._look.__exit__(None, None, None)
        if self._ears is not None:
            self._ears.close()
            self._ears = None

    def again(self) -> Caller:
        """Return the same caller with a new connection."""
        other = Caller(self._cluster, self._user)
        other.call_id = self.call_id
        return other

    def next_news(self, limit_s: float) -> None:
        """Wait until something about the runs of this call is new, or was before the first wait."""
        import psycopg

        if self._ears is None:
            self._ears = psycopg.connect(self._text, autocommit=True)
            self._ears.execute(f"LISTEN {channel_of_call(self.call_id)}".encode())
            return
        for _ in self._ears.notifies(timeout=limit_s, stop_after=1):
            return
        raise AssertionError(f"no news in {limit_s} s")

    def submit(
        self,
        *orders: TravelOrder,
        tag: str = "default",
        attempts: int = 1,
        attached: bool = False,
    ) -> list[str]:
        """Hand orders over, in the background unless it is said otherwise; return their ids."""
        submissions = [
            Submission(
                run_id=order.run_id,
                session_id=order.session_id,
                name=order.work.name,
                order=order_to_bytes(order),
                tag=tag,
                attempts_max=attempts,
            )
            for order in orders
        ]
        assert submit_now(self._look, self.call_id, submissions, attached=attached) == {}
        return [order.run_id for order in orders]

    def submit_raw(self, order: bytes) -> str:
        """Hand over what may be no order at all."""
        run_id = os.urandom(16).hex()
        some = [Submission(run_id=run_id, session_id="0" * 16, name="odd", order=order)]
        assert submit_now(self._look, self.call_id, some, attached=False) == {}
        return run_id

    def states(self, run_ids: Iterable[str]) -> dict[str, RunState]:
        return states_now(self._look, run_ids)

    def wait(self, run_ids: Sequence[str], *wanted: str) -> dict[str, RunState]:
        """Return how runs stand once each is in one of these states, by default over."""
        wanted = wanted or OVER
        while True:
            found = self.states(run_ids)
            if all(each.state in wanted for each in found.values()):
                return found
            self.next_news(LIMIT_S)

    def results(self, run_ids: Sequence[str]) -> list[RunResult]:
        """Return the result of every run, waiting for it."""
        found = self.wait(run_ids)
        return [result_of(found[run_id]) for run_id in run_ids]

    def files(self, run_id: str) -> dict[str, bytes]:
        """Return what came back of each file, by its name."""
        state = self.states([run_id])[run_id]
        found: dict[str, bytearray] = {}
        number = 0
        while pieces := records_after_now(self._look, run_id, state.attempt, number):
            for piece in pieces:
                assert piece.number == number + 1
                number = piece.number
                content = found.setdefault(piece.file, bytearray())
                if piece.file == "questions.json":
                    content.clear()
                assert piece.place == len(content)
                content += piece.data
        assert number >= state.last_number
        return {name: bytes(content) for name, content in found.items()}

    def events(self, run_id: str) -> list[object]:
        """Return the events that came back."""
        lines = self.files(run_id).get("events.jsonl", b"").splitlines()
        return [entry.event for line in lines if (entry := decode_entry(line)) is not None]

    def command(self, run_id: str, kind: CommandKind, **content: str) -> int:
        return command_now(self._look, run_id, kind, json.dumps(content) if content else "")

    def command_status(self, command_id: int) -> str | None:
        return command_status_now(self._look, command_id)


def result_of(state: RunState) -> RunResult:
    """Return the result of a run that ended."""
    assert state.result is not None, state
    result = result_from_json(json.loads(state.result))
    assert result is not None
    return result
