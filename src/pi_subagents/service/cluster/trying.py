"""
A whole cluster on this machine, for as long as somebody tries one: PostgreSQL and two workers.

In: an environment, and a directory for the demonstration.  Out: the environment with the address
in it, while the `with` lasts.  Nothing of it outlives this process: what it started is tied to it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pi_subagents.cluster.address import parse_address
from pi_subagents.cluster.embedded import LocalServer, place_of_server
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.files import CLUSTER_VARIABLE
from pi_subagents.errors.cluster import ClusterBusyHere, LocalServerFailed
from pi_subagents.service.inside import refuse_inside_subagent
from pi_subagents.system import tethered
from pi_subagents.system.home import data_dir
from pi_subagents.system.safe_io import acquire_lock, make_private_dirs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from pi_subagents.cluster.address import ClusterAddress

WORKERS = ("try-1", "try-2")
CONCURRENCY = "2"
BEGIN_S, END_S = 60.0, 20.0


class LocalCluster:
    """To be used with `with`: everything is up inside of it, and gone afterwards."""

    def __init__(self, env: Mapping[str, str]) -> None:
        refuse_inside_subagent(env)
        self._given = dict(env)
        self._resources = ExitStack()
        self.address: ClusterAddress

    def __enter__(self) -> dict[str, str]:
        """Start all of it; return the environment of whoever uses it."""
        with ExitStack() as resources:
            home = data_dir(self._given)
            make_private_dirs(home)
            lock = acquire_lock(home / "cluster-try.lock")
            if lock is None:
                raise ClusterBusyHere
            resources.callback(os.close, lock)
            server = LocalServer(place_of_server(home))
            resources.callback(server.stop)
            server.start()
            self.address = parse_address(server.address, {})
            from pi_subagents.cluster.making import make_cluster

            make_cluster(self.address)
            env = {**self._given, CLUSTER_VARIABLE: server.address}
            workers = [WorkerProcess(name, env, resources) for name in WORKERS]
            self._wait_for(workers)
            self._resources = resources.pop_all()
        return env

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the workers, then the server."""
        self._resources.close()

    def _wait_for(self, workers: list[WorkerProcess]) -> None:
        """Wait until the database knows all of them, or one has ended."""
        from pi_subagents.cluster.link import ShortLink

        deadline = time.monotonic() + BEGIN_S
        with ShortLink(self.address, "subagents cluster try") as link:
            while True:
                (row,) = link.call("overview", 0)
                now = [
                    each
                    for each in row["overview"]["workers"]
                    if each["name"] in WORKERS and each["seenAgoMs"] < BEGIN_S * 1000
                ]
                if len(now) >= len(workers):
                    return
                for each in workers:
                    each.check(late=time.monotonic() > deadline)
                time.sleep(0.05)


class WorkerProcess:
    """One `subagents worker`, ended with us."""

    def __init__(self, name: str, env: Mapping[str, str], resources: ExitStack) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - ended below
        resources.callback(self._said.close)
        command = [sys.executable, "-m", "pi_subagents", "worker", "--name", name]
        tie = [sys.executable, "-I", tethered.__file__, str(os.getpid())]
        self._process = subprocess.Popen(
            [*tie, *command, "--concurrency", CONCURRENCY],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            env=env,
            cwd=Path.home(),
            start_new_session=True,  # a Ctrl+C is for us, and we end it in order
        )
        resources.callback(self._end)

    def check(self, *, late: bool) -> None:
        """Raise with its last words if it has ended, or did not begin in time."""
        if late or self._process.poll() is not None:
            self._said.seek(0)
            lines = self._said.read().decode("utf-8", "replace").strip().splitlines()
            raise LocalServerFailed(one_line(lines[-1] if lines else "a worker ended", 300))

    def _end(self) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self._process.send_signal(number)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                continue
            return


README = """# Three ways to sort

sort.py has one of them. The others are left to the reader.
"""
SORT = """def bubble(values):
    for last in range(len(values), 0, -1):
        for i in range(1, last):
            if values[i - 1] > values[i]:
                values[i - 1], values[i] = values[i], values[i - 1]
    return values
"""


def make_project(directory: Path, env: Mapping[str, str]) -> None:
    """Write a small git repository, whose snapshot travels to the workers."""
    (directory / "README.md").write_text(README)
    (directory / "sort.py").write_text(SORT)
    who = ["-c", "user.name=subagents", "-c", "user.email=subagents@localhost"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "Three ways to sort"]):
        subprocess.run(["git", *words], cwd=directory, env=env, check=True, capture_output=True)
