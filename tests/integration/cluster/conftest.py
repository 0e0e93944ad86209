"""A worker with fake children, and a caller that shares nothing with it but a real database."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.cluster_worker import BEGUN, Caller, WorkerProcess
from tests.fakes.driver import ADDRESS_VARIABLE, FAKE_PI_COMMAND, Driver, open_driver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.fakes.cluster_server import TestCluster

    from pi_subagents.core.cluster.state import RunState
    from pi_subagents.core.run.result import RunResult


@dataclass
class ClusterPlace:
    """What a test of workers has."""

    root: Path
    cluster: TestCluster
    caller: Caller
    driver: Driver
    workers: list[WorkerProcess] = field(default_factory=list)

    async def worker(self, *arguments: str, name: str = "one", **more: Any) -> WorkerProcess:
        """Start a worker, and return it once it takes runs."""
        variables = {ADDRESS_VARIABLE: self.driver.address, **more.pop("variables", {})}
        text = self.cluster.text("worker")
        more = {"pi": FAKE_PI_COMMAND, **more}
        process = WorkerProcess(
            self.root / "homes", text, name, *arguments, variables=variables, **more
        )
        self.workers.append(process)
        await self.heard(process, BEGUN)
        return process

    async def heard(self, process: WorkerProcess, words: str) -> str:
        return await asyncio.to_thread(process.wait_for, words)

    async def result(self, run_id: str) -> RunResult:
        (result,) = await self.results([run_id])
        return result

    async def results(self, run_ids: Sequence[str]) -> list[RunResult]:
        return await asyncio.to_thread(self.caller.results, run_ids)

    async def state(self, run_id: str, *wanted: str) -> RunState:
        wait = partial(self.caller.wait, [run_id], *wanted)
        return (await asyncio.to_thread(wait))[run_id]

    def let_time_pass(self) -> None:
        """Let the database believe that nobody was heard of for an hour."""
        for table in ("run", "worker", "call"):
            self.cluster.do(f"UPDATE subagents.{table} SET seen_at = seen_at - interval '1 hour'")


@pytest.fixture
async def place(tmp_path: Path, cluster: TestCluster) -> AsyncIterator[ClusterPlace]:
    """A place without a worker yet."""
    if sys.platform != "linux":
        pytest.skip("the fakes read /proc")
    caller = Caller(cluster)
    async with open_driver() as driver:
        made = ClusterPlace(tmp_path, cluster, caller, driver)
        try:
            yield made
        finally:
            caller.close()
            for each in made.workers:
                await asyncio.to_thread(each.end)
