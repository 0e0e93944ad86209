"""
A caller to be killed: `python caller.py attached|detached PROJECT PROMPT...`.

Attached it delegates as any program does.  Detached it starts supervisors without a lifeline and
only waits for them: whatever becomes of them, it concludes nothing.
"""

from __future__ import annotations

import asyncio
import os
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import api
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.task.request import Task
from pi_subagents.runners import pool, process, supervisor_start
from pi_subagents.runners.process import ProcessRunner
from pi_subagents.runners.supervisor_start import order_line, start_supervisor
from pi_subagents.store.local_order import altered
from pi_subagents.system import crash_points
from pi_subagents.system.safe_io import write_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch


class DetachedRunner(ProcessRunner):
    """Start supervisors that outlive us."""

    async def run(
        self,
        spec: RunSpec,
        on_event: Callable[[Event], None],  # noqa: ARG002 - nobody watches
        stop: StopSwitch,  # noqa: ARG002 - nobody stops
    ) -> RunResult:
        alone = altered(self._held.placed(spec), attached=False)
        supervisor = start_supervisor(self._env, lock_fd=alone.place.lock_fd)
        assert supervisor.stdin is not None
        write_all(supervisor.stdin.fileno(), order_line(alone))
        supervisor.stdin.close()
        self._held.release(spec.run_id)
        crash_points.reach(crash_points.SUPERVISOR_STARTED)
        await asyncio.to_thread(supervisor.wait)
        result = self._held.run_dir(spec.run_id).read_result()
        crash_points.reach(crash_points.RESULT_READ)
        return result or RunResult(spec.run_id, spec.session_id, spec.name, "interrupted")


if __name__ == "__main__":
    crashing = runpy.run_path(str(Path(__file__).with_name("crashing.py")))
    crashing["let_crash"]()
    if "FORKED_SUPERVISORS" in os.environ:
        vars(pool)["FORK_FROM"] = 1
    vars(supervisor_start)["BOOT"] = crashing["BEFORE_BOOT"] + supervisor_start.BOOT
    mode, project, *prompts = sys.argv[1:]
    if mode == "detached":
        vars(process)["RUNNER"] = DetachedRunner
    tasks = [Task(prompt, prompt) for prompt in prompts]
    profile = os.environ.get("PROFILE")
    delegation = api.delegate_sync(tasks, cwd=Path(project), concurrency=16, profile=profile)
    for result in delegation.results:
        print(result.name, result.status, result.error_message, *result.notes, sep="|")
