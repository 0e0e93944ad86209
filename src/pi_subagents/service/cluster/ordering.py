"""
Have a worker stop a run, give it a message or answer its question: commands of the database.

In: a run that is done in a cluster.  Out: the command is there for its worker, who hears of it at
once; ClusterError where the cluster cannot be reached.  What became of it is in the run's journal.
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from pi_subagents.cluster.caller import command_now
from pi_subagents.service.cluster.refreshing import look_at_cluster
from pi_subagents.store.orders import KILL_LIMIT_S, STOP_LIMIT_S, Stopped

if TYPE_CHECKING:
    from pi_subagents.cluster.caller import CommandKind
    from pi_subagents.service.runs import Runs
    from pi_subagents.store.run_dir import RunDir

_PAUSE_S = 0.1


def tell_worker(runs: Runs, run_dir: RunDir, kind: CommandKind, **content: str) -> str:
    """Give the run's worker a message or an answer; return the number under which it is known."""
    number = os.urandom(8).hex()
    with look_at_cluster(runs.cwd, runs.env) as look:
        command_now(look, run_dir.run_id, kind, json.dumps({"number": number, **content}))
    return number


class RemoteStopping:
    """One run in a cluster that is to end; it is asked at once, and waited for later."""

    def __init__(self, runs: Runs, run_dir: RunDir, *, force: bool) -> None:
        self.run_dir = run_dir
        self._runs = runs
        self._deadline = time.monotonic() + (KILL_LIMIT_S if force else STOP_LIMIT_S)
        with look_at_cluster(runs.cwd, runs.env) as look:
            command_now(look, run_dir.run_id, "kill" if force else "stop")

    def finish(self) -> Stopped:
        """Wait for the end to come here; return what came of it."""
        while self.run_dir.desk.is_remote():
            if time.monotonic() >= self._deadline:
                return Stopped.AT_IT
            self._runs.refresh([self.run_dir])
            time.sleep(_PAUSE_S)
        return Stopped.ENDED
