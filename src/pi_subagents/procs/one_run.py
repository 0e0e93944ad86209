"""
One run in this process: its lock is taken, it is supervised, and it has a result whatever happens.

In: a specification, and a child that served other runs where there is one.  Out: an exit code, and
the child if it may serve another.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import messages
from pi_subagents.core.outcome import Cause
from pi_subagents.core.run_result import RunResult
from pi_subagents.disk import crash_points
from pi_subagents.disk.run_dir import RunDir
from pi_subagents.procs import process_tree
from pi_subagents.procs.intake import now_ms
from pi_subagents.procs.supervisor import Supervisor

if TYPE_CHECKING:
    from pi_subagents.core.framing import Frame
    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.procs.child import Child
    from pi_subagents.procs.lifeline import Lifeline
    from pi_subagents.procs.listener import Listener

DONE, NOT_OURS, FAILED = 0, 1, 3


def do_run(
    spec: RunSpec,
    early_commands: list[Frame],
    lifeline: Lifeline,
    listener: Listener,
    child: Child | None = None,
) -> tuple[int, Child | None]:
    """Do one run to its result; return an exit code, and the child if there is one left."""
    run_dir = RunDir(Path(spec.run_dir))
    lock = take_lock(spec, run_dir)
    try:
        if not run_dir.locked_by(lock):
            return NOT_OURS, child  # its directory is gone, or another stands in its place
        if run_dir.result.exists() or run_dir.events.exists():
            return NOT_OURS, child  # it is over, or another supervisor had it
        crash_points.reach(crash_points.LOCKED)
        try:
            supervisor = Supervisor(spec, run_dir, listener, child)
            lifeline.on_frames = supervisor.obey
            lifeline.on_end = lambda: supervisor.stop(Cause.LIFELINE_LOST)
            if lifeline.lost:  # meanwhile, as the child before was let go
                lifeline.on_end()
            return DONE, supervisor.run(early_commands)
        except Exception as error:  # noqa: BLE001 - the last line before a run would end untold
            process_tree.kill_tree(None, lambda _: None)
            run_dir.write_result(internal_failure(spec, repr(error)))
            return FAILED, None
    finally:
        os.close(lock)


def take_lock(spec: RunSpec, run_dir: RunDir) -> int:
    """Return the run's lock, held: handed down by who planned the run, else taken here."""
    if spec.lock_fd is not None:
        os.set_inheritable(spec.lock_fd, False)
        return spec.lock_fd
    lock = os.open(run_dir.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def internal_failure(spec: RunSpec, reason: str) -> RunResult:
    """Return the result of a run whose supervisor itself failed."""
    return RunResult(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=spec.name,
        status="failed",
        error_message=messages.supervisor_failed(reason),
        finished_at_ms=now_ms(),
    )
